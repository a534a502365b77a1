// `toolshelf/mcp`: a host that feeds a shelf from many MCP servers, and the gateway built on it.
export { type Config, type ConfigText, readConfig } from './config/config.ts'
export {
  configPlaces,
  type Machine,
  projectConfigFiles,
  thisMachine,
  userConfigFiles,
} from './config/places.ts'
export { type HttpGateway, type HttpOptions, runOnHttp } from './gateway/http.ts'
export { createGateway, type Gateway, type GatewayOptions } from './gateway/index.ts'
export { shelfOptions } from './gateway/shelf-options.ts'
export { runOnStdio, type StdioOptions } from './gateway/stdio.ts'
export { createMcpHost, type McpHostOptions } from './host/index.ts'
export { createOAuth } from './host/oauth.ts'
export { defaultTokenFolder } from './host/oauth-credentials.ts'
export type { Times } from './host/times.ts'
export { defaultPinsFolder, openPins, type Pins } from './safety/pins.ts'
export type {
  Asker,
  AuthProvider,
  CallOptions,
  CallOutput,
  ConfigProblem,
  HostEvent,
  ListedTool,
  McpHost,
  Progress,
  RemoteConfig,
  ServerConfig,
  ServerState,
  ServerStatus,
  StdioConfig,
  ToolConfig,
  ToolProblem,
  UnauthorizedContext,
} from './types.ts'
