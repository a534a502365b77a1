// Manages the servers of a host, which may join and leave while it runs.
import { isDeepStrictEqual } from 'node:util'
import { withTimeout } from '@toolshelf/core/internal/node'
import type { ServerConfig } from '../types.ts'
import type { ChangeGuardOptions } from './change-guard.ts'
import { Connection, type ConnectionOptions } from './connection.ts'
import type { McpHostOptions } from './host.ts'
import { eventOf } from './host-events.ts'
import { Member, MemberLists } from './member-lists.ts'

type MembersOptions = Pick<
  McpHostOptions,
  | 'shelf'
  | 'pins'
  | 'onChange'
  | 'alwaysLoad'
  | 'authorize'
  | 'loginHint'
  | 'questionHandler'
  | 'clientInfo'
  | 'limits'
> &
  Pick<ConnectionOptions, 'cache' | 'limit' | 'times' | 'capabilities'> &
  Pick<ChangeGuardOptions, 'notify' | 'acceptHint' | 'emit' | 'later'>

export class Members {
  /** What the servers list, and which of it may be used. */
  readonly lists: MemberLists
  readonly #options: MembersOptions
  readonly #members = new Map<string, Member>()
  /** Connections of servers that are no longer configured, until their calls have ended. */
  readonly #leaving = new Set<Connection>()

  constructor(servers: readonly ServerConfig[], options: MembersOptions) {
    this.#options = options
    this.lists = new MemberLists(servers, { ...options, find: (server) => this.find(server) })
    for (const config of servers) this.#admit(config)
  }

  all(): Member[] {
    return [...this.#members.values()]
  }

  find(server: string): Member | undefined {
    return this.#members.get(server)
  }

  /** Returns a member; throws an error that names the servers there are. */
  get(server: string): Member {
    const member = this.#members.get(server)
    if (member) return member
    const names = [...this.#members.keys()].join(', ')
    throw new Error(`unknown server "${server}"; configured: ${names || 'none'}`)
  }

  /** Returns false once its server has been reconfigured or removed. */
  readonly isHere = (member: Member): boolean => this.#members.get(member.config.name) === member

  /** Replaces the servers; keeps those whose entry is unchanged. Returns the new members. */
  async replace(servers: readonly ServerConfig[]): Promise<Member[]> {
    const before = new Map(this.#members)
    this.#members.clear()
    for (const config of servers) {
      const known = before.get(config.name)
      if (known && isDeepStrictEqual(known.config, config)) this.#members.set(config.name, known)
      else this.#admit(config)
    }
    const joined = this.all().filter((member) => before.get(member.config.name) !== member)
    for (const member of before.values()) if (!this.isHere(member)) void this.#leave(member)
    await this.lists.arrange(this.all().map(({ config }) => config))
    await Promise.all(joined.map((member) => this.lists.readCache(member)))
    return joined
  }

  async close(): Promise<void> {
    const connections = this.all().map(({ connection }) => connection)
    await Promise.all([...connections, ...this.#leaving].map((connection) => connection.close()))
  }

  #admit(config: ServerConfig): void {
    const member = this.#join(config)
    this.#members.set(config.name, member)
    this.lists.showServer(member)
  }

  #join(config: ServerConfig): Member {
    const { name } = config
    const { authorize, clientInfo, emit, ...options } = this.#options
    const connection = new Connection({
      ...options,
      config,
      clientInfo: clientInfo ?? { name: 'toolshelf', version: '0.1.0' },
      limits: options.limits,
      questionHandler: options.questionHandler,
      authorize: async () => (config.transport.kind === 'stdio' ? undefined : authorize?.(config)),
      onState: () => {
        if (!this.isHere(member)) return
        this.lists.showServer(member)
        emit({ type: 'state', server: name, status: this.lists.status(member) })
      },
      onTools: () => this.lists.publish(member),
      onList: (type) => {
        if (type === 'prompts') void this.lists.showPrompts(member)
        else emit({ type, server: name })
      },
      onNotification: (method, params, client) => {
        const event = this.isHere(member) ? eventOf(name, method, params, client) : undefined
        if (event) emit(event)
      },
    })
    const member = new Member(config, connection)
    return member
  }

  /** Closes a connection once its calls are answered. */
  async #leave({ calls, connection }: Member): Promise<void> {
    this.#leaving.add(connection)
    await withTimeout(Promise.allSettled(calls), this.#options.times.drainMs, 'late').catch(() => {})
    await connection.close()
    this.#leaving.delete(connection)
  }
}
