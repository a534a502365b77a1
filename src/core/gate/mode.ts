// Reads the mode that the user asked for: the option `toolSearch`, or `ENABLE_TOOL_SEARCH`; and the kill switch (M).
// Implements M1, M2, M3.
import type { Environment } from '../../lib/index.ts'
import type { ToolSearchMode } from '../types.ts'

/** The mode that the user asked for. */
export type ModeReading = {
  readonly mode: ToolSearchMode
  /** The share of the context window at which `tst-auto` opens. */
  readonly percent: number
  /** Whether the user set a value; then an unknown proxy is trusted to support tool search (G1). */
  readonly isSet: boolean
  /** Whether the kill switch is on, which overrides everything else (M1). */
  readonly isKilled: boolean
  readonly warning?: string
}

const DEFAULT_PERCENT = 10
const KILL_SWITCHES = ['CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS', 'TOOLSHELF_DISABLE_BETAS']

/** Reads the option, or else the environment variable (M2); the kill switch overrides both. */
export function readMode(option: string | boolean | undefined, environment: Environment): ModeReading {
  const value =
    option === undefined || String(option).trim() === '' ? environment.ENABLE_TOOL_SEARCH : String(option)
  const isKilled = KILL_SWITCHES.some((name) => isTruthy(environment[name]))
  return isKilled ? { ...parseMode(value), mode: 'standard', isKilled } : { ...parseMode(value), isKilled }
}

/** Parses the value; option and variable have the same syntax (M3). */
function parseMode(value: string | undefined): Omit<ModeReading, 'isKilled'> {
  const text = (value ?? '').trim().toLowerCase()
  const percent = DEFAULT_PERCENT
  if (text === '') return { mode: 'tst', percent, isSet: false }
  if (isTruthy(text)) return { mode: 'tst', percent, isSet: true }
  if (isFalsy(text)) return { mode: 'standard', percent, isSet: true }
  if (text === 'auto' || text === 'auto:') return { mode: 'tst-auto', percent, isSet: true }
  if (text.startsWith('auto:')) return parsePercent(text.slice('auto:'.length).trim(), value)
  return { mode: 'tst', percent, isSet: true, warning: unclear(value, 'tool search is on') }
}

function parsePercent(text: string, value: string | undefined): Omit<ModeReading, 'isKilled'> {
  const isSet = true
  if (!/^[+-]?\d+(\.\d*)?$/.test(text)) {
    const warning = unclear(value, `the threshold is ${DEFAULT_PERCENT} %`)
    return { mode: 'tst-auto', percent: DEFAULT_PERCENT, isSet, warning }
  }
  const percent = Math.trunc(Number(text))
  if (percent < 0) return { mode: 'tst', percent: 0, isSet, warning: unclear(value, 'it is read as auto:0') }
  if (percent > 100) {
    return { mode: 'standard', percent: 100, isSet, warning: unclear(value, 'it is read as auto:100') }
  }
  return {
    mode: percent === 0 ? 'tst' : percent === 100 ? 'standard' : 'tst-auto',
    percent: Math.abs(percent),
    isSet,
  }
}

function isTruthy(value: string | undefined): boolean {
  return ['true', '1', 'yes', 'on'].includes((value ?? '').trim().toLowerCase())
}

function isFalsy(text: string): boolean {
  return ['false', '0', 'no', 'off'].includes(text)
}

function unclear(value: string | undefined, reading: string): string {
  return `ENABLE_TOOL_SEARCH is "${(value ?? '').slice(0, 40)}": ${reading}. Use true, false, auto or auto:N with N from 0 to 100.`
}
