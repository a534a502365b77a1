// The real clients that tests start: the packages of a lock file, installed on the first test that wants one. They are too
// big for the project's own dependencies, and most need a newer Node than it does.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isThorough } from '../../packages/testkit/src/runs.ts'
// @ts-expect-error: plain JavaScript, shared with scripts/test.mjs
import { installClients, modulesOf, ownNodeIsNew } from './installation.mjs'

export type Clients = {
  /** Why there are none, in one line; undefined if they are here. */
  readonly missing: string | undefined
  /** A Node that all of them run on. */
  readonly node: string
  /** A file of an installed package. */
  readonly file: (path: string) => string
}

/** Packages that are installed together: those of one lock file, which is in a folder here. */
export type ClientSet = {
  readonly folder: string
  /** In megabytes, for a set so large that it is installed and tried only if TEST_EFFORT is above 1. */
  readonly largeMB?: number
}

const COMMON: ClientSet = { folder: '.' }
/** MCP Inspector, mcporter, mcp-cli, opencode and pi. */
export const AGENTS: ClientSet = { folder: 'agents', largeMB: 489 }

/** `needed`: files of packages that not every platform has. */
export async function prepareClients(needed: readonly string[] = [], set = COMMON): Promise<Clients> {
  const newerNode = `node-${process.platform}-${process.arch}/bin/node`
  const node = ownNodeIsNew() ? process.execPath : join(modulesOf(COMMON.folder), newerNode)
  const file = (path: string) => join(modulesOf(set.folder), path)
  const missing =
    tooLarge(set) ??
    (set === COMMON ? undefined : await installClients(set.folder)) ??
    (await installClients(COMMON.folder)) ??
    lacking(COMMON, ownNodeIsNew() ? [] : [newerNode]) ??
    lacking(set, needed)
  if (missing !== undefined) process.stderr.write(`Skipped: ${missing}\n`)
  return { missing, node, file }
}

function tooLarge({ folder, largeMB }: ClientSet): string | undefined {
  if (largeMB === undefined || isThorough) return undefined
  return `${folder} takes ${largeMB} MB; TEST_EFFORT=2 installs and tries it.`
}

/** Why one of these files of packages is not there, in one line; undefined if all are. */
export function lacking({ folder }: ClientSet, files: readonly string[]): string | undefined {
  const absent = files.find((path) => !existsSync(join(modulesOf(folder), path)))
  if (absent === undefined) return undefined
  const [scope, name] = absent.split('/')
  const missing = scope?.startsWith('@') ? `${scope}/${name}` : scope
  return `npm has no ${missing} for ${process.platform} on ${process.arch}.`
}
