// Names of tools inside the gateway: those of the Messages API, which allows fewer characters than some clients use.
import { hash } from '@toolshelf/core/internal'

const MAX_NAME_LENGTH = 128

/** Returns the name itself if the Messages API accepts it, else a stable replacement. */
export function insideName(name: string): string {
  if (/^[\w-]{1,128}$/.test(name)) return name
  const digest = hash(name)
  return `${name.replace(/[^\w-]/g, '_').slice(0, MAX_NAME_LENGTH - digest.length - 1)}_${digest}`
}
