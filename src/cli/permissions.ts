// What may run without asking: patterns of tool names from the command line.
import type { Permission } from '../agent/types.ts'
import { matchesAny } from '../core/tools/wildcard.ts'

/** Where nobody can be asked, only what was allowed beforehand runs. */
export function allowOnly(patterns: readonly string[]): Permission {
  return ({ call }) =>
    matchesAny(patterns, call.name) ||
    `Nobody is there to allow ${call.name}. It runs only if it was allowed when the session was started: --allow '${call.name}'.`
}
