// Exports of cli/session for other folders: the session, rules and model client of the agent commands.
export { modelOptions, type OpenedClient, openClient, openScript } from './client.ts'
export { MODEL } from './default-model.ts'
export { onInterrupt } from './interrupt.ts'
export { loadView } from './load-view.ts'
export { checkPrompt, readPrompt } from './prompt.ts'
export { type AgentSession, openAgentSession } from './session.ts'
export {
  idlePermissionRules,
  openPermissions,
  refuseUnasked,
  ruleOptions,
  rulesFromFlags,
} from './session-rules.ts'
