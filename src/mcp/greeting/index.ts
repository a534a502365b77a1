// Exports of mcp/greeting for other folders.

export { PAGES, passableExtensions } from './extensions.ts'
export { answerInitialize, type GreetingOptions, greetingFor, type InitializeRequest } from './greeting.ts'
export { aboutNoServers, joinInstructions } from './instructions.ts'
export {
  ALWAYS_LOAD,
  gatewayCallTool,
  gatewaySearchTool,
  type ListingMode,
  type OwnTool,
} from './own-tools.ts'
