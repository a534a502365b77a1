// Finds the line of a process's stderr that names its error: runtimes write it above or below a stack trace.

/** The end of `error:`, `TypeError: `, `mod.MyError [E_X]: `, `docker: Error response from daemon: ` and the like. */
const NAMED =
  /^(?:\S{1,200}: )?(?:Uncaught )?(?:[\w$.]{0,200}(?:Error|Exception)|error|ERROR|fatal|panic)(?:\s?\[[^\]]{0,100}\])?(?: [^:]{0,80})?: ?\S/
const NPM = /^npm (?:error|ERR!) (?!code |errno |syscall |path |dest |A complete log)(?=.*\w.* )/
const TRACEBACK = /^(?:Exception Group )?Traceback \(most recent call last\):/
/** Frames, lines without words, and what follows an error. */
const NOISE = /^\s+at |^\W*$|^Node\.js v|^npm notice|^npm (?:error|ERR!)\s*$|complete log of this run/

/** Returns the index of the line that names the error, or else of the last one that says something; -1 if none does. */
function errorLineIndex(lines: readonly string[]): number {
  const plain = lines.map(withoutGroupMarks)
  const traceback = plain.findLastIndex((line) => TRACEBACK.test(line))
  const raised =
    traceback === -1 ? -1 : plain.findIndex((line, index) => index > traceback && /^\S/.test(line))
  if (raised !== -1) return raised
  const named = plain.findLastIndex((line) => NAMED.test(line))
  if (named !== -1) return named
  const npm = plain.findIndex((line) => NPM.test(line))
  if (npm !== -1) return npm
  const outer = plain.findLastIndex((line) => /^\S/.test(line) && !NOISE.test(line))
  return outer === -1 ? plain.findLastIndex((line) => !NOISE.test(line)) : outer
}

/** Returns the text of that line; an error that goes on in brackets, such as a list of issues, is joined to it. */
export function errorLineOf(text: string): string {
  const lines = text.split('\n')
  const index = errorLineIndex(lines)
  const line = withoutGroupMarks(lines[index] ?? '').trim()
  if (!/[[{]$/.test(line)) return line
  const rest = lines.slice(index + 1)
  const end = rest.findIndex((next) => /^\s+at |^Node\.js v|^\S/.test(next))
  const body = rest.slice(0, end === -1 ? rest.length : end + 1).filter((next) => !/^\s+at /.test(next))
  return [line, ...body].map((part) => part.trim()).join(' ')
}

/**
 * Cuts lines to the last `max`. If the line that names the error came earlier, it stays: it is put in front, and a
 * line with "…" stands for what is missing between.
 */
export function lastLinesWithError(lines: readonly string[], max: number): readonly string[] {
  const index = errorLineIndex(lines)
  const error = lines[index]
  if (error === undefined || index >= lines.length - max) return lines.slice(-max)
  return [error, '…', ...lines.slice(2 - max)]
}

/** Python draws `  | ` in front of the tracebacks of an exception group. */
function withoutGroupMarks(line: string): string {
  return line.replace(/^\s{0,80}[+|][+|\s]{0,80}(?=\S)/, (marks) => marks.replace(/^[\s+|]*[+|] ?/, ''))
}
