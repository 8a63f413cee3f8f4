// An extension for pi and omp: the command /next resumes the session whose path stands in the file SHAPE_NEXT.
import fs from "node:fs";

export default function (agent) {
  agent.registerCommand("next", {
    description: "Resume the next session",
    handler: async (_arguments, context) => {
      await context.switchSession(fs.readFileSync(process.env.SHAPE_NEXT, "utf8"));
    },
  });
}
