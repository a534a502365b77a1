// `toolshelf completion`: what a shell needs to complete commands and options.
import { type Command, UsageError } from './command.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const

/** `load` gives every command there is. */
export function completionOf(load: () => Promise<readonly Command[]>): Command {
  return {
    name: 'completion',
    summary: 'Prints what your shell needs to complete commands and options.',
    words: 'bash|zsh|fish',
    options: {},
    examples: [
      'eval "$(toolshelf completion bash)"      # in ~/.bashrc',
      'eval "$(toolshelf completion zsh)"       # in ~/.zshrc',
      'toolshelf completion fish | source       # in ~/.config/fish/config.fish',
    ],
    async run({ words }, terminal) {
      const shell = SHELLS.find((one) => one === words[0])
      if (!shell) throw new UsageError(`name a shell: ${SHELLS.join(', ')}.`)
      terminal.print(scripts[shell](await load()))
      return 0
    },
  }
}

const scripts: { readonly [shell in (typeof SHELLS)[number]]: (commands: readonly Command[]) => string } = {
  bash: (commands) => `_toolshelf() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then words="${names(commands)}"
  else case "\${COMP_WORDS[1]}" in
${commands.map((command) => `    ${command.name}) words="${optionsOf(command).join(' ')}" ;;`).join('\n')}
  esac; fi
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
    *) if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "$words" -- "$word")); else COMPREPLY=($(compgen -f -- "$word")); fi ;;
  esac
}
complete -o filenames -F _toolshelf toolshelf`,
  zsh: (commands) => `_toolshelf() {
  if (( CURRENT == 2 )); then
    local -a commands=(${commands.map(({ name, summary }) => quoted(`${name}:${summary}`)).join(' ')})
    _describe command commands
    return
  fi
  case "$words[2]" in
${commands.map((command) => `    ${command.name}) _arguments ${zshOptions(command)} '*:file:_files' ;;`).join('\n')}
  esac
}
compdef _toolshelf toolshelf`,
  fish: (commands) =>
    [
      'complete -c toolshelf -n __fish_use_subcommand -f',
      ...commands.map(
        ({ name, summary }) =>
          `complete -c toolshelf -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
      ),
      ...commands.flatMap(({ name, options }) =>
        Object.entries(options).map(
          ([option, { about, type }]) =>
            `complete -c toolshelf -n "__fish_seen_subcommand_from ${name}" -l ${option} -d ${quoted(about)}${type === 'string' ? ' -r' : ''}`,
        ),
      ),
    ].join('\n'),
}

function names(commands: readonly Command[]): string {
  return commands.map(({ name }) => name).join(' ')
}

function optionsOf({ options }: Command): string[] {
  return [...Object.keys(options), 'help'].map((name) => `--${name}`)
}

function zshOptions({ options }: Command): string {
  return Object.entries(options)
    .map(([name, { about, type }]) =>
      quoted(`--${name}[${about.replace(/[[\]:]/g, ' ')}]${type === 'string' ? ':value:_files' : ''}`),
    )
    .join(' ')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
