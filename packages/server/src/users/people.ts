// Finds the users whom the operator named as owners of tokens: by issuer and subject, or by a mail address, which is
// resolved once, because it can be given to somebody else later.
import type { UserDirectory } from './directory.ts'
import { isMailAddress, keyOfOwner, type TokenOwner, type UserRecord } from './records.ts'

/** A user, and the name under which the directory has it. */
export type NamedUser = { readonly id: string; readonly record: UserRecord }

/** The owner of a verified token. Has an address only if the token says that it is verified. */
export type PersonOfToken = TokenOwner & { readonly subject: string }

/** The users of tokens. */
export type People = {
  /** Returns the user of a token; the first token with an address makes its subject the owner for good. */
  find(person: PersonOfToken): Promise<NamedUser | undefined>
  /** Returns whether the operator named nobody. */
  isEmpty(): Promise<boolean>
  close(): void
}

/** Creates the index of a directory, by `keyOfOwner`; it is built again after each change. */
export function createPeople(directory: UserDirectory): People {
  let index: Promise<ReadonlyMap<string, NamedUser>> | undefined
  const stop = directory.onChange(() => {
    index = undefined
  })

  async function build(): Promise<ReadonlyMap<string, NamedUser>> {
    const users = [...(await directory.users())]
    return new Map(
      users.flatMap(([id, record]) => (record.token ? [[keyOfOwner(record.token), { id, record }]] : [])),
    )
  }

  async function current(): Promise<ReadonlyMap<string, NamedUser>> {
    await directory.sync()
    const building = index ?? build()
    index = building
    building.catch(() => {
      if (index === building) index = undefined
    })
    return building
  }

  return {
    async find({ issuer, subject, email }) {
      const owners = await current()
      const known = owners.get(keyOfOwner({ issuer, subject }))
      if (known || !isMailAddress(email)) return known
      const named = owners.get(keyOfOwner({ issuer, email }))
      const kept = named && (await directory.keepSubject(named.id, subject))
      return kept === subject ? named : undefined
    },
    isEmpty: async () => (await current()).size === 0,
    close: stop,
  }
}
