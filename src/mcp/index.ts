// Exports of mcp for other folders. src/entries/mcp.ts is the one for users.
export type { ReadinessCheck, TlsFiles } from '../operate/index.ts'
export type { ScriptLimits } from '../sandbox/index.ts'
export {
  type ConfigText,
  configPlaces,
  type LoadedConfig,
  type LocalMachine,
  projectConfigFiles,
  readConfig,
  thisMachine,
  userConfigFiles,
} from './config/index.ts'
export {
  createMcpGateway,
  createMcpMetrics,
  type GatewayResults,
  type GatewayScripts,
  gatewayShelfOptions,
  type McpGateway,
  type McpGatewayOptions,
  type McpMetrics,
  type McpStdioOptions,
  serveMcpGatewayOnStdio,
} from './gateway/index.ts'
export type { HostTimeouts } from './host/index.ts'
export { createMcpHost, type McpHostOptions } from './host/index.ts'
export { type McpHttpGateway, type McpHttpOptions, serveMcpGatewayOnHttp } from './http/index.ts'
export { createOAuth, defaultTokenFolder } from './oauth/index.ts'
export { defaultPinsFolder, openPins, type Pins } from './pins/index.ts'
export type {
  AuthProvider,
  CallOptions,
  CallOutput,
  ConfigProblem,
  HostEvent,
  KnownServer,
  ListedTool,
  McpHost,
  Progress,
  QuestionHandler,
  RemoteConfig,
  ServerConfig,
  ServerState,
  ServerStatus,
  StdioConfig,
  ToolConfig,
  ToolProblem,
  UnauthorizedContext,
} from './types.ts'
