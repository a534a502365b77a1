// Formats numbers and untrusted text for people, the same in the terminal and on the page.

/** Formats a number with thousands separators. */
export function count(value: number): string {
  return value.toLocaleString('en-US').replace('-', '−')
}

/** Formats a number with its noun: `1 tool`, `2 tools`. */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`
}

/** Formats a share as a percentage with one decimal. */
export function percent(share: number): string {
  return share > 0 && share < 0.0005 ? '< 0.1 %' : `${(100 * share).toFixed(1)} %`
}

/** Formats milliseconds as `250 ms` or `1.5 s`; an empty text for null. */
export function duration(milliseconds: number | null): string {
  if (milliseconds === null) return ''
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`
}

/** Cleans all strings in plain data so that they can neither control a terminal nor hide or reverse other text. */
export function harmlessData<Data>(data: Data): Data {
  return JSON.parse(JSON.stringify(data), (key, value) => {
    if (typeof value !== 'string') return value
    return key === 'stderr' ? linesOf(value).join('\n') : printableLine(value)
  })
}

/** Returns untrusted text on one line, without invisible characters. */
export function printableLine(text: string): string {
  const words = text
    .toWellFormed()
    .replace(ESCAPE_SEQUENCE, '')
    .replace(/\p{Cf}/gu, '')
    // Matches single characters, because a repetition over millions of them would overflow the engine's stack.
    .split(/[\s\p{Cc}\p{Zl}\p{Zp}]/u)
  return words.filter((word) => word !== '').join(' ')
}

/** Returns the non-empty lines of a process's output. */
export function linesOf(text: string): string[] {
  return text
    .split(/\r\n|\r|\n/)
    .map(printableLine)
    .filter((line) => line !== '')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const ESCAPE_SEQUENCE = /(?:\u001b\[|\u009b)[\d;?]*[ -/]*[@-~]/g
