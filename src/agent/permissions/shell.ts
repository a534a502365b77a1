// Finds every program that a bash command line would run, including those started by wrappers such as `env`. Pure.
import { type ParsedShell, parseShell, type Redirection, type SimpleCommand } from './shell-parser.ts'

export type { Redirection, SimpleCommand } from './shell-parser.ts'

/** The commands of a command line, including those that wrappers start. */
export type ShellReading = {
  /** The commands that run, as far as known; each must be allowed. */
  readonly commands: readonly SimpleCommand[]
  /** Word sequences that may be commands too; a rule that forbids one of them forbids the line. */
  readonly suspects: readonly SimpleCommand[]
  readonly redirections: readonly Redirection[]
  /** False if something else may run too; then only a person can decide. */
  readonly isCertain: boolean
}

const SHELLS = new Set('sh bash dash zsh ksh mksh ash fish rbash csh tcsh'.split(' '))
/** Shells whose syntax the parser supports. */
const READABLE = /^(bash|sh|dash|ash)$/

/** Programs that run the command after them, with the number of words in between if no options are given. */
const WRAPPERS: { readonly [program: string]: number } = {
  command: 0,
  builtin: 0,
  exec: 0,
  nohup: 0,
  nice: 0,
  setsid: 0,
  sudo: 0,
  doas: 0,
  env: 0,
  ...{
    ionice: 0,
    chronic: 0,
    unbuffer: 0,
    catchsegv: 0,
    stdbuf: 0,
    time: 0,
    timeout: 1,
    chroot: 1,
    flock: 1,
  },
}

/** Programs that run commands in ways the parser does not model. */
const RUNNERS = new Set(
  [
    'xargs su runuser sg pkexec gosu su-exec ssh ssh-agent watch parallel fd entr jobs at batch expect script',
    'busybox toybox taskset chrt numactl prlimit choom setarch linux32 linux64 unshare nsenter setpriv capsh runcon',
    'fakeroot faketime firejail bwrap proot systemd-run cgexec start-stop-daemon run-parts chpst softlimit logsave',
    'dbus-run-session xvfb-run rlwrap torsocks proxychains caffeinate strace ltrace valgrind perf hyperfine',
  ]
    .join(' ')
    .split(' '),
)

/** Builtins that evaluate their arguments as code, or change the meaning of later words. */
const EVALUATING = new Set(
  'eval trap source . let declare typeset local export readonly unset read mapfile readarray getopts enable bind complete compgen shopt set alias unalias hash history fc'.split(
    ' ',
  ),
)
const FIND_RUNS = new Set(['-exec', '-execdir', '-ok', '-okdir'])
const FIND_WRITES = new Set(['-delete', '-fprint', '-fprint0', '-fprintf', '-fls'])
/** Maximum nested parses for one line. */
const MAX_READINGS = 300

/** Reads a command line as bash would. For other shells, fewer lines are certain. Never throws. */
export function readShell(text: string, shell = 'bash'): ShellReading {
  const reading = inside(parseShell(text), { left: MAX_READINGS })
  return isReadAsBash(programName(shell), text) ? reading : { ...reading, isCertain: false }
}

/** Whether a shell reads the text as bash does: only bash supports `$'…'`, others see a different quote. */
function isReadAsBash(shell: string, text: string): boolean {
  return READABLE.test(shell) && (shell === 'bash' || !text.includes('$'))
}

type Budget = { left: number }

function inside(parsed: ParsedShell, budget: Budget): ShellReading {
  const commands: SimpleCommand[] = []
  const suspects: SimpleCommand[] = []
  const redirections = [...parsed.redirections]
  let { isCertain } = parsed
  const include = (within: ParsedShell, isExact: boolean) => {
    if (budget.left-- <= 0) {
      isCertain = false
      return
    }
    const reading = inside(within, budget)
    const found = isExact ? commands : suspects
    found.push(...reading.commands)
    suspects.push(...reading.suspects)
    redirections.push(...reading.redirections)
    if (isExact && !reading.isCertain) isCertain = false
  }
  for (const command of parsed.commands) {
    commands.push(command)
    const started = startedBy(command)
    if (!started.isCertain) isCertain = false
    if (started.script !== undefined) include(parseShell(started.script), true)
    for (const words of started.exact ?? []) {
      include(ofWords(words), true)
      if (budget.left < 0) break
    }
    for (const words of started.perhaps ?? []) {
      include(ofWords(words), false)
      const [first = ''] = words
      if (/[\s;&|$`]/.test(first)) include(parseShell(first), false)
    }
  }
  return { commands, suspects, redirections, isCertain }
}

function ofWords(words: readonly string[]): ParsedShell {
  return { commands: [{ words }], redirections: [], isCertain: true }
}

type Started = {
  readonly isCertain: boolean
  /** Text that it runs as code. */
  readonly script?: string
  /** Commands that it runs. */
  readonly exact?: Iterable<readonly string[]>
  /** Word sequences that may be a command it runs. */
  readonly perhaps?: readonly (readonly string[])[]
}

/** Returns what a simple command starts besides itself. */
function startedBy({ words }: SimpleCommand): Started {
  const [first = '', ...rest] = words
  const program = programName(first)
  if (program === 'eval' || program === 'trap')
    return { isCertain: false, script: program === 'eval' ? rest.join(' ') : (rest[0] ?? '') }
  if (EVALUATING.has(program)) return { isCertain: false }
  if (SHELLS.has(program)) return ofShell(program, rest)
  if (program === 'find') return ofFind(rest)
  if (Object.hasOwn(WRAPPERS, program)) return ofWrapper(rest, WRAPPERS[program] ?? 0)
  if (RUNNERS.has(program)) return { isCertain: false, perhaps: suffixes(rest) }
  return { isCertain: !words.some(mayBeEvaluated) }
}

/** Returns a program's name without its folder. */
export function programName(word: string): string {
  return word.slice(word.lastIndexOf('/') + 1)
}

/** Whether a quoted word may be evaluated as code, as by `printf -v` and `test -v`. */
function mayBeEvaluated(word: string, index: number, words: readonly string[]): boolean {
  const isBuiltin = /^(printf|test|\[|wait)$/.test(words[0] ?? '')
  return /\$[({[]|`/.test(word) || (isBuiltin && index > 0 && /^-[vp]/.test(word))
}

function ofShell(program: string, rest: readonly string[]): Started {
  const at = rest.findIndex((word) => /^-[A-Za-z]*c[A-Za-z]*$/.test(word))
  const isPlain = at >= 0 && rest.slice(0, at).every((word) => /^-[A-Za-z]+$/.test(word))
  const script = rest[at + 1]
  // Without a script it runs a file, or its standard input.
  if (at < 0 || script === undefined) return { isCertain: false, perhaps: suffixes(rest) }
  const isCertain = isPlain && isReadAsBash(program, script) && !/^[-+]/.test(script)
  return { isCertain, script, perhaps: suffixes(rest.slice(at + 2)) }
}

function ofFind(rest: readonly string[]): Started {
  // The value of `{}` is known only at run time.
  const isKnown = !rest.some(
    (word) => FIND_WRITES.has(word) || word.includes('{}') || mayBeEvaluated(word, 0, []),
  )
  const runs: { readonly start: number; readonly end: number | undefined }[] = []
  let end: number | undefined
  for (let index = rest.length - 1; index >= 0; index--) {
    const word = rest[index] ?? ''
    if (word === ';' || (word === '+' && rest[index - 1] === '{}')) end = index
    if (FIND_RUNS.has(word)) runs.push({ start: index + 1, end })
  }
  const read = runs.reverse().slice(0, MAX_SUFFIXES)
  const isClosed = read.every(({ start, end }) => end !== undefined && end > start)
  return { isCertain: isKnown && isClosed && runs.length === read.length, exact: commandsIn(rest, read) }
}

/** Yields commands lazily, because most of a long line is never read. */
function* commandsIn(
  words: readonly string[],
  runs: readonly { readonly start: number; readonly end: number | undefined }[],
): Generator<readonly string[]> {
  for (const { start, end } of runs) {
    const command = words.slice(start, end)
    if (command.length > 0) yield command
  }
}

/** Returns the wrapped command. It is uncertain after options, since only the wrapper knows where they end. */
function ofWrapper(rest: readonly string[], between: number): Started {
  const command = rest.slice(between)
  const options = rest.slice(0, between + 1)
  const isPlain = command.length > 0 && options.every((word) => !word.startsWith('-') && !word.includes('='))
  return isPlain
    ? { isCertain: true, exact: [command], perhaps: [] }
    : { isCertain: false, perhaps: suffixes(rest) }
}

const MAX_SUFFIXES = 50
const MAX_SUFFIX_LENGTH = 100

function suffixes(words: readonly string[]): string[][] {
  return words.slice(0, MAX_SUFFIXES).map((_, index) => words.slice(index, index + MAX_SUFFIX_LENGTH))
}
