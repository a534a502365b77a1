// Determines which files a call would read or change, by real path: links, `..` and `~` are resolved before permission checks.
import { lstat, readlink, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

/** A file or folder that a call would read or change. */
export type Access = {
  /** Whether the call reads the file or changes it. */
  readonly kind: 'read' | 'write'
  /** The real path, with all symbolic links resolved. */
  readonly path: string
  /** The absolute path as requested, links unresolved. */
  readonly requestedPath: string
  /** Includes everything below it. */
  readonly isRecursive: boolean
  readonly isInside: boolean
  /** A symbolic link on the path leads elsewhere; links to the working folder itself do not count. */
  readonly isLinked: boolean
}

/** How a tool uses a path. */
type AccessOptions = {
  readonly isRecursive?: boolean
  /** Refers to the directory entry itself, not its link target, because it is moved or deleted. */
  readonly isEntry?: boolean
}

/** Resolves a path as a tool would. */
export async function accessTo(
  directory: string,
  path: string,
  kind: Access['kind'],
  { isRecursive = false, isEntry = false }: AccessOptions = {},
): Promise<Access> {
  const requestedPath = resolvePath(directory, path)
  const real = isEntry
    ? join(await realPathOf(dirname(requestedPath)), basename(requestedPath))
    : await realPathOf(requestedPath)
  const folder = await realPathOf(directory)
  const own = resolve(directory)
  const plain = isWithin(requestedPath, own) ? join(folder, relative(own, requestedPath)) : requestedPath
  return {
    kind,
    path: real,
    requestedPath,
    isRecursive,
    isInside: isWithin(real, folder),
    isLinked: real !== plain,
  }
}

/** Resolves a path against the folder; `~` is the user's home. */
export function resolvePath(directory: string, path: string, home = homedir()): string {
  if (path === '~') return home
  return /^~[\\/]/.test(path) ? join(home, path.slice(2)) : resolve(directory, path)
}

const MAX_LINKS = 40

/** Returns the real path of an existing file or of one that would be created. */
export async function realPathOf(path: string, links = 0): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    const target = links < MAX_LINKS ? await readlink(path).catch(() => undefined) : undefined
    if (target !== undefined) return realPathOf(resolve(dirname(path), target), links + 1)
    const folder = dirname(path)
    return folder === path ? path : join(await realPathOf(folder, links), basename(path))
  }
}

/** Returns whether a path is this folder or inside it; handles names that begin with two dots. */
export function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

/** Returns the target of a link; undefined if the path is not a link. */
export async function linkTarget(path: string): Promise<string | undefined> {
  const found = await lstat(path).catch(() => undefined)
  return found?.isSymbolicLink() ? realPathOf(path) : undefined
}
