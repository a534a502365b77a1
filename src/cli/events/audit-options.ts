// The options of `--audit`, apart from what they load.
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { CommandError, type Input, type Option, UsageError } from '../command.ts'

/** Where events are written, and whether with arguments and results. */
export type AuditSettings = { readonly file: string; readonly hasContent: boolean }

/** Options of commands whose events have no arguments and results. */
export const auditOption: { readonly [name: string]: Option } = {
  audit: {
    type: 'string',
    value: 'file',
    isValueOptional: true,
    about:
      'append events as JSON lines, without secrets; rotated; without a file, where "toolshelf inspect" looks',
  },
}

/** Options of commands that run tools. */
export const auditOptions: { readonly [name: string]: Option } = {
  ...auditOption,
  'audit-content': { type: 'boolean', about: 'with --audit: also arguments and results of calls, shortened' },
}

/** Reads the options; returns undefined without `--audit`. */
export function auditIn(input: Input): AuditSettings | undefined {
  const file = input.text('audit') ?? (input.isSet('audit') ? eventFile() : undefined)
  const hasContent = input.isSet('audit-content')
  if (file === undefined && hasContent) throw new UsageError('--audit-content requires --audit.')
  if (file === '') throw new UsageError('--audit needs the name of a file.')
  return file === undefined ? undefined : { file, hasContent }
}

/**
 * Returns the file that `--audit` records to and `toolshelf inspect` shows if none is named:
 * `$XDG_STATE_HOME/toolshelf/events.jsonl`, else in `~/.local/state`. `findHome` is replaceable in tests.
 */
export function eventFile(findHome: () => string = homedir): string {
  const { XDG_STATE_HOME: given } = process.env
  const state =
    given !== undefined && isAbsolute(given) ? given : join(homeFolder(findHome), '.local', 'state')
  return join(state, 'toolshelf', 'events.jsonl')
}

function homeFolder(findHome: () => string): string {
  try {
    return findHome()
  } catch {
    throw new CommandError('there is no home folder; name a file for events.')
  }
}
