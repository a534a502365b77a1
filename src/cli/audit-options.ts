// The options of `--audit`, apart from what they load.
import { type Input, type Option, UsageError } from './command.ts'

/** Where events are written, and whether with arguments and results. */
export type AuditSettings = { readonly file: string; readonly hasContent: boolean }

/** Options of commands whose events have no arguments and results. */
export const auditOption: { readonly [name: string]: Option } = {
  audit: {
    type: 'string',
    value: 'file',
    about: 'append events as JSON lines, without secrets; rotated',
  },
}

/** Options of commands that run tools. */
export const auditOptions: { readonly [name: string]: Option } = {
  ...auditOption,
  'audit-content': { type: 'boolean', about: 'with --audit: also arguments and results of calls, shortened' },
}

/** Reads the options; undefined without `--audit`. */
export function auditIn(input: Input): AuditSettings | undefined {
  const file = input.text('audit')
  const hasContent = input.isSet('audit-content')
  if (file === undefined && hasContent) throw new UsageError('--audit-content requires --audit.')
  if (file === '') throw new UsageError('--audit needs the name of a file.')
  return file === undefined ? undefined : { file, hasContent }
}
