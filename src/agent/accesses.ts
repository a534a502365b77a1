// Which files a call would read or change, by their real paths: links, `..` and `~` are resolved before anybody decides.
import { lstat, readlink, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

/** A file or folder that a call would read or change. */
export type Access = {
  readonly kind: 'read' | 'write'
  /** The real path: links are followed, also those on the way. */
  readonly path: string
  /** The absolute path as it was asked for. */
  readonly asked: string
  /** All that is below it, too. */
  readonly isRecursive: boolean
  /** It is in the working folder. */
  readonly isInside: boolean
  /** A link on the way leads elsewhere than the path says; links to the working folder itself do not count. */
  readonly isLinked: boolean
}

export type AccessOptions = {
  readonly isRecursive?: boolean
  /** The entry itself is meant, not what it links to: it is moved or deleted. */
  readonly isEntry?: boolean
}

/** The access to a path as a tool would resolve it. */
export async function accessTo(
  directory: string,
  path: string,
  kind: Access['kind'],
  { isRecursive = false, isEntry = false }: AccessOptions = {},
): Promise<Access> {
  const asked = resolvePath(directory, path)
  const real = isEntry ? join(await realPathOf(dirname(asked)), basename(asked)) : await realPathOf(asked)
  const folder = await realPathOf(directory)
  const own = resolve(directory)
  const plain = isWithin(asked, own) ? join(folder, relative(own, asked)) : asked
  return { kind, path: real, asked, isRecursive, isInside: isWithin(real, folder), isLinked: real !== plain }
}

/** Relative paths begin in the folder; `~` is the user's home. */
export function resolvePath(directory: string, path: string, home = homedir()): string {
  if (path === '~') return home
  return /^~[\\/]/.test(path) ? join(home, path.slice(2)) : resolve(directory, path)
}

const MOST_LINKS = 40

/** The real path of what exists, or would be created, there. */
export async function realPathOf(path: string, links = 0): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    const target = links < MOST_LINKS ? await readlink(path).catch(() => undefined) : undefined
    if (target !== undefined) return realPathOf(resolve(dirname(path), target), links + 1)
    const folder = dirname(path)
    return folder === path ? path : join(await realPathOf(folder, links), basename(path))
  }
}

/** Whether a path is this folder or one below it; a name may begin with two dots. */
export function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

/** Where a link leads; undefined for what is no link. */
export async function linkTarget(path: string): Promise<string | undefined> {
  const found = await lstat(path).catch(() => undefined)
  return found?.isSymbolicLink() ? realPathOf(path) : undefined
}
