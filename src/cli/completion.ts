// `toolshelf completion`: prints shell completion for commands, their arguments, options and values. The scripts ask
// `toolshelf completion servers` for the names of servers when Tab is pressed.
import { type LocalMachine, ownConfigFile, serverNames, thisMachine } from '../mcp/config/index.ts'
import { readBoundedFile } from '../node/index.ts'
import { type Command, help, type Option, UsageError } from './command.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const

const MAX_BYTES = 16_000_000

/** Creates the command. `load` returns all commands; `machine` is read when the command runs. */
export function completionOf(
  load: () => Promise<readonly Command[]>,
  machine: () => LocalMachine = thisMachine,
): Command {
  return {
    name: 'completion',
    summary: 'Prints a script that makes your shell complete commands, options and values.',
    words: 'bash|zsh|fish',
    verbs: SHELLS,
    options: {},
    examples: [
      'eval "$(toolshelf completion bash)"      # in ~/.bashrc',
      'eval "$(toolshelf completion zsh)"       # in ~/.zshrc, behind compinit',
      'toolshelf completion fish | source       # in ~/.config/fish/config.fish',
    ],
    async run({ words }, terminal) {
      if (words[0] === 'servers' && words.length === 1) {
        for (const name of await completableServers(machine())) terminal.print(name)
        return 0
      }
      const shell = SHELLS.find((one) => one === words[0])
      if (!shell || words.length > 1) throw new UsageError(`name a shell: ${SHELLS.join(', ')}.`)
      terminal.print(scripts[shell](withHelp(await load())))
      return 0
    },
  }
}

/**
 * Returns the servers of our own configuration. Omits names with shell metacharacters, because shells expand
 * completions. Returns none if the file cannot be read.
 */
async function completableServers(machine: LocalMachine): Promise<readonly string[]> {
  try {
    const text = (await readBoundedFile(ownConfigFile(machine), MAX_BYTES)).toString()
    return serverNames(text).filter((name) => /^\w[\w.@-]*$/.test(name))
  } catch {
    return []
  }
}

const SERVERS = 'toolshelf completion servers 2>/dev/null'

/** Adds `toolshelf help <command>`. */
function withHelp(commands: readonly Command[]): Parts[] {
  const about = { name: 'help', summary: 'explains a command', options: {} }
  const verbs = commands.map(({ name }) => name)
  return [...commands, { ...about, verbs }].map((command) => ({
    ...command,
    options: Object.entries({ ...command.options, help }),
  }))
}

type Parts = Pick<Command, 'name' | 'summary' | 'verbs' | 'takesServer'> & {
  readonly options: readonly [string, Option][]
}

const scripts: { readonly [shell in (typeof SHELLS)[number]]: (commands: readonly Parts[]) => string } = {
  bash: (commands) => `_toolshelf() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" words="" options="" files=""
  if [ "$word" = "=" ]; then word=""; elif [ "$before" = "=" ]; then before="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  case "$COMP_CWORD \${COMP_WORDS[1]} $before" in
    1\\ *) words="${commands.map(({ name }) => name).join(' ')}"; options="--help --version" ;;
${commands.flatMap(bashCases).join('\n')}
  esac
  case "$word" in -*) words="$words $options" ;; esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  if [ \${#COMPREPLY[@]} -eq 0 ] && [ -n "$files" ]; then
    local IFS=$'\\n'
    COMPREPLY=($(compgen "$files" -- "$word"))
    compopt -o filenames 2>/dev/null
  fi
  case "\${COMPREPLY[*]}" in *:) compopt -o nospace 2>/dev/null ;; esac
}
complete -F _toolshelf toolshelf`,
  zsh: (commands) => `_toolshelf_any() { compadd -- "$@"; _files; }
_toolshelf_servers() { compadd -- \${(f)"$(${SERVERS})"}; }
_toolshelf() {
  if (( CURRENT == 2 )); then
    local -a commands=(${commands.map(({ name, summary }) => quoted(`${name}:${summary}`)).join(' ')})
    _describe command commands
    return
  fi
  case "$words[2]" in
${commands.map((command) => `    ${command.name}) _arguments ${zshArguments(command)} ;;`).join('\n')}
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
      ...commands.flatMap(fishLines),
    ].join('\n'),
}

/** The first match wins: the value of an option, the first argument, then everything else. */
function bashCases({ name, verbs = [], takesServer, options }: Parts): string[] {
  const valued = options.filter(([, { type }]) => type === 'string')
  const all = options.map(([option]) => `--${option}`).join(' ')
  return [
    ...valued.map(([option, { values = [], value }]) => {
      const files = { none: '', files: '-f', folders: '-d' }[filesOf(value)]
      return `    *\\ ${name}\\ --${option}) words="${values.join(' ')}"; files="${files}" ;;`
    }),
    ...(verbs.length > 0 ? [`    2\\ ${name}\\ *) words="${verbs.join(' ')}"; options="${all}" ;;`] : []),
    ...(takesServer ? [`    2\\ ${name}\\ *) words="$(${SERVERS})"; options="${all}" ;;`] : []),
    `    *\\ ${name}\\ *) options="${all}"; files="-f" ;;`,
  ]
}

function zshArguments({ verbs, takesServer, options }: Parts): string {
  const flags = options.map(([name, { about, type, value = 'value', values, isMultiple = false }]) => {
    const action = type === 'string' ? `:${value}:${zshAction(value, values)}` : ''
    const title = `${isMultiple ? '*' : ''}--${name}${type === 'string' ? '=' : ''}`
    return quoted(`${title}[${about.replace(/[[\]:\\]/g, ' ')}]${action}`)
  })
  const what = takesServer ? '_toolshelf_servers' : `(${verbs?.join(' ')})`
  const words = verbs || takesServer ? ["'1:command: '", quoted(`2:what:${what}`)] : []
  return [...flags, ...words, "'*:file:_files'"].join(' ')
}

/** A colon within an action is escaped by a backslash; an action of one space completes nothing. */
function zshAction(value: string, values: readonly string[] = []): string {
  const list = values.join(' ').replaceAll(':', '\\:')
  const files = { none: ' ', files: '_files', folders: '_files -/' }[filesOf(value)]
  if (list === '') return files
  if (list.includes(':')) return ` compadd -S "" -- ${list}`
  return files === ' ' ? `(${list})` : ` _toolshelf_any ${list}`
}

function fishLines({ name, verbs, takesServer, options }: Parts): string[] {
  const isHere = `__fish_seen_subcommand_from ${name}`
  const flags = options.map(([option, { about, type, value, values }]) => {
    const choices = values ? ` -a ${quoted(values.join(' '))}` : ''
    const files = { none: ' -x', files: ' -r', folders: " -x -a '(__fish_complete_directories)'" }[
      filesOf(value)
    ]
    const taken = type === 'string' ? files + choices : ''
    return `complete -c toolshelf -n "${isHere}" -l ${option} -d ${quoted(about)}${taken}`
  })
  if (takesServer) return [...flags, `complete -c toolshelf -n "${isHere}" -f -a ${quoted(`(${SERVERS})`)}`]
  if (!verbs) return flags
  const isFirst = `${isHere}; and not __fish_seen_subcommand_from ${verbs.join(' ')}`
  return [...flags, `complete -c toolshelf -n "${isFirst}" -f -a ${quoted(verbs.join(' '))}`]
}

/** What to complete, judging by the name of a value. */
function filesOf(value = ''): 'none' | 'files' | 'folders' {
  if (value === 'folder') return 'folders'
  return ['file', 'files', 'session'].includes(value) ? 'files' : 'none'
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
