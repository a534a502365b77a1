// Decides which servers and tools a profile shows: one predicate, which the gateway applies to everything it answers.
import { matchesAny } from '../lib/index.ts'
import type { AccessRules, Profile } from './types.ts'

/** Which servers and tools a user may see, and so search, list, call and read. */
export type Rights = {
  /** Two profiles with the same rules have the same id. */
  readonly id: string
  seesServer(server: string): boolean
  /** @param tool - The name that the server gives it. */
  seesTool(server: string, tool: string): boolean
}

const known = new WeakMap<Profile, Rights>()

/** Returns the rights of a profile; the same object for the same profile. */
export function rightsOf(profile: Profile): Rights {
  let rights = known.get(profile)
  if (!rights) {
    rights = createRights(profile)
    known.set(profile, rights)
  }
  return rights
}

function createRights({ servers, tools }: Pick<Profile, 'servers' | 'tools'>): Rights {
  const seesServer = (server: string) => allows(servers, server)
  return {
    id: JSON.stringify([servers.allow, servers.deny, tools.allow, tools.deny]),
    seesServer,
    seesTool: (server, tool) => seesServer(server) && allows(tools, `${server}/${tool}`),
  }
}

function allows({ allow, deny }: AccessRules, name: string): boolean {
  return (allow.length === 0 || matchesAny(allow, name)) && !matchesAny(deny, name)
}
