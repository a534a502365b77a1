// Starts, stops and reconnects servers, lists their tools again, and logs in to them.
import { errorMessage, type Fields } from '../../lib/index.ts'
import type { ServerAction, ServerView } from '../api.ts'
import { InspectorFailure, MAX_NAME_LENGTH, readText } from './read-input.ts'
import { actionsOf, serverView, statusOf } from './server-views.ts'
import type { ManagedServers } from './types.ts'

/** Runs an action and returns the server after it. */
export async function runAction(servers: ManagedServers, input: Fields): Promise<ServerView> {
  const name = readText(input.server, 'server', MAX_NAME_LENGTH)
  const status = statusOf(servers, name)
  const possible = actionsOf(status, servers.manage.login !== undefined)
  const action = possible.find((one) => one === input.action)
  if (!action)
    throw new InspectorFailure(
      400,
      `"action" is not possible while the server is ${status.state}; possible: ${possible.join(', ') || 'none'}`,
    )
  try {
    await actions[action](servers, name)
  } catch (error) {
    throw new InspectorFailure(502, errorMessage(error).slice(0, 2000))
  }
  return serverView(servers, name)
}

const actions: {
  readonly [action in ServerAction]: (servers: ManagedServers, name: string) => Promise<unknown>
} = {
  start: ({ host }, name) => host.connect(name),
  stop: ({ host }, name) => host.disconnect(name),
  refresh: ({ host }, name) => host.refresh(name),
  async reconnect({ host }, name) {
    await host.disconnect(name)
    await host.connect(name)
  },
  async login({ host, manage: { login, configs } }, name) {
    const config = configs().find((one) => one.name === name)
    if (!config || !login) throw new Error(`run "toolshelf login ${name}" in a terminal`)
    await login(config)
    await host.disconnect(name)
    await host.connect(name)
  },
}
