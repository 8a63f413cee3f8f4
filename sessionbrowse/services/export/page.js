const all=[...document.querySelectorAll("article")],rows=new Map();
for(const row of document.querySelectorAll("nav a"))rows.set(row.hash.slice(1),row);
const box=document.getElementById("search"),count=document.getElementById("count"),texts=[];
let timer=0;
function search(){const words=box.value.toLowerCase().split(/\s+/).filter(Boolean);let found=0;
all.forEach((one,at)=>{let hit=true;if(words.length){texts[at]??=one.textContent.toLowerCase();
hit=words.every(word=>texts[at].includes(word))}
one.hidden=!hit;const row=rows.get(one.id);if(row)row.hidden=!hit;if(hit)found++});
count.textContent=words.length?found+" of "+all.length:""}
box.addEventListener("input",()=>{clearTimeout(timer);timer=setTimeout(search,120)});
document.getElementById("folds").addEventListener("click",()=>{const some=document.querySelector("details:not([open])");
for(const one of document.querySelectorAll("details"))one.open=!!some});
document.getElementById("theme").addEventListener("click",()=>{const root=document.documentElement;
const dark=root.classList.contains("dark")||(!root.classList.contains("light")&&
matchMedia("(prefers-color-scheme: dark)").matches);
root.classList.toggle("dark",!dark);root.classList.toggle("light",dark)});
addEventListener("beforeprint",()=>{for(const one of document.querySelectorAll("details"))one.open=true});
