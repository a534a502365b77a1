// Joins the host that all users share with the host of one user's own servers, so that the gateway sees one host.
import type { Shelf } from '../../core/index.ts'
import type { CallOptions, HostEvent, McpHost } from '../types.ts'

/** Options of `joinHosts`. */
export type JoinedHostOptions = {
  readonly shared: McpHost
  readonly own: McpHost
  /** The shelf with the tools of both. */
  readonly shelf: Shelf
  readonly isOwn: (server: string) => boolean
  /** Resolves when the user's servers are configured; never rejects. */
  readonly ready: () => Promise<void>
  /** Called when the user's servers are used. */
  readonly onUse: () => void
}

/** A host, and whether someone uses it. */
export type JoinedHost = {
  readonly host: McpHost
  /** Returns whether calls are running or clients listen. */
  isInUse(): boolean
  /** Returns the number of running calls of the user's own servers. */
  inFlight(): number
}

/** Joins the two hosts. */
export function joinHosts(options: JoinedHostOptions): JoinedHost {
  const { shared, own, shelf, isOwn, ready, onUse } = options
  const both = [shared, own]
  let calls = 0
  let listeners = 0

  async function using<Value>(server: string, work: (host: McpHost) => Promise<Value>): Promise<Value> {
    if (!isOwn(server)) return work(shared)
    calls++
    onUse()
    try {
      await ready()
      return await work(own)
    } finally {
      calls--
      onUse()
    }
  }

  const host: McpHost = {
    readCache: () => shared.readCache(),
    publishCachedTools: () => shared.publishCachedTools(),
    start(capabilities) {
      shared.start(capabilities)
      void ready().then(() => own.start(capabilities))
    },
    async configure() {
      throw new Error('the servers of a user follow those of the gateway; configure the gateway instead')
    },
    status: () => both.flatMap((one) => one.status()),
    async run(call, callOptions) {
      const { server = '' } = shelf.resolve(call)
      return using(server, (one) => one.run(call, callOptions))
    },
    isReadOnly(call) {
      const { server = '' } = shelf.resolve(call)
      return (isOwn(server) ? own : shared).isReadOnly(call)
    },
    folderOf: (server) => (isOwn(server) ? own : shared).folderOf(server),
    call: (server, tool, input, callOptions?: CallOptions) =>
      using(server, (one) => one.call(server, tool, input, callOptions)),
    request: (server, method, params, callOptions) =>
      using(server, (one) => one.request(server, method, params, callOptions)),
    async settled(callOptions) {
      await ready()
      await Promise.all(both.map((one) => one.settled(callOptions)))
    },
    notifyServers(method) {
      for (const one of both) one.notifyServers(method)
    },
    connect: (server) => using(server, (one) => one.connect(server)),
    disconnect: (server) => using(server, (one) => one.disconnect(server)),
    refresh: (server) => using(server, (one) => one.refresh(server)),
    watchLists() {
      for (const one of both) one.watchLists()
    },
    async refreshStaleLists(callOptions) {
      await Promise.all(both.map((one) => one.refreshStaleLists(callOptions)))
    },
    listen(listener: (event: HostEvent) => void) {
      const stops = both.map((one) => one.listen(listener))
      let isOver = false
      listeners++
      return () => {
        for (const stop of stops) stop()
        if (!isOver) listeners--
        isOver = true
      }
    },
    close: () => own.close(),
  }
  return { host, isInUse: () => calls > 0 || listeners > 0, inFlight: () => calls }
}
