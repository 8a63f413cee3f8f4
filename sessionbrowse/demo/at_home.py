"""Demo sessions about the user's dotfiles, and demo sessions of a project whose directory was moved."""

from __future__ import annotations

from sessionbrowse.demo.world import MOVED_PROJECT, World


def write_sessions(world: World) -> None:
    """Write all sessions of the dotfiles project and of the project whose directory was moved."""
    tmux_popup(world)
    first_steps(world)
    shell_start(world)
    editor(world)
    csv_encoding(world)
    remove_jquery(world)


def tmux_popup(world: World) -> None:
    """Write a short session that is some months old."""
    s = world.story("pi", "dotfiles", "64d", "tmux", model="openai/gpt-5.2", thinking="off")
    s.user("How do I open lazygit in a tmux popup that closes with q?")
    s.say("```tmux\nbind g display-popup -E -w 90% -h 90% -d '#{pane_current_path}' lazygit\n```")
    world.save(s)


def first_steps(world: World) -> None:
    """Write a session in pi's file format version 1, in which entries have no ids."""
    s = world.story("pi", "dotfiles", "372d", "v1", version=1)
    s.header_extra = {"provider": "anthropic", "modelId": "claude-sonnet-4-5", "thinkingLevel": "off"}
    s.user("Why does zsh need 1.2 seconds to start?")
    s.run("zsh -i -c exit -x 2>&1 | ts -i '%.s' | sort -rn | head -3", "0.81 nvm.sh\n0.19 compinit\n0.05 starship init")
    s.say("Nearly all of it is nvm. Load it when `node` is first called.")
    kept = s.user("Do that, and cache compinit")
    s.compact("The user wants zsh to start faster; nvm is loaded lazily.", kept)
    s.say("Now 90 ms.")
    world.save(s)


def shell_start(world: World) -> None:
    """Write a session of omp that was named twice, so that the second name replaced the first."""
    s = world.story("omp", "dotfiles", "24d", "zsh", model="google/gemini-3-pro")
    s.user("Move my zsh configuration to fish, one part at a time")
    s.name("zsh to fish")
    s.use("read", {"path": "zshrc"}, 'alias gs="git status"\nexport EDITOR=nvim\n…')
    s.say("Aliases become abbreviations, so that the history shows what really ran. 34 of 41 could be moved.")
    s.name("zsh → fish")
    s.note("session_exit", {"reason": "dispose", "kind": "normal", "recordedAt": ""})
    world.save(s)


def editor(world: World) -> None:
    """Write a session of the older indusagi, damaged by a bug: the parent of one entry is missing in the file."""
    s = world.story("indusagi", "dotfiles", "151d", "nvim", model="kimi/kimi-k2", thinking="off")
    s.user("Set up the Neovim language server for Go and Python")
    s.note("todo", {"todos": [{"text": "gopls", "done": True}, {"text": "basedpyright", "done": False}]})
    s.write("nvim/lsp.lua", 'vim.lsp.enable({ "gopls" })', "Wrote nvim/lsp.lua")
    s.say("gopls works; basedpyright needs `uv tool install basedpyright` first.")
    s.name("Neovim LSP")
    orphan = s.user("And format on save")
    # By a bug of indusagi ≤ 0.12.15, the parent of this entry is only in the file of the session's fork.
    s.entry(orphan)["parentId"] = "5f0c1a7e"
    s.say("Added, for both languages.")
    world.save(s)


def csv_encoding(world: World) -> None:
    """Write a session of the project whose directory was moved."""
    s = world.story("pi", MOVED_PROJECT, "95d", "csv")
    s.user("Excel shows Ã¼ instead of ü in the exported CSV")
    s.run("head -c 3 export.csv | xxd", "00000000: 4e61 6d                  Nam")
    s.say("It is UTF-8 without a byte order mark, which Excel reads as Latin-1. CSV files get the mark now.")
    s.name("CSV export encoding")
    world.save(s)


def remove_jquery(world: World) -> None:
    """Write a sample session about removing jQuery, the second one in the project whose directory was moved."""
    s = world.story("pi", MOVED_PROJECT, "124d", "jquery")
    s.user("Remove jQuery, page by page, smallest first")
    s.run("grep -rlc '\\$(' static | wc -l", "37")
    page = s.say("37 files use it. I begin with the six that only toggle a class.")
    s.label(page, "plan")
    s.user("Go on")
    s.say("Six files done, 31 to go; the bundle is 4 KB smaller.")
    world.save(s)
