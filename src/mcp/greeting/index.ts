// Exports of mcp/greeting for other folders.

export {
  ALWAYS_LOAD,
  aboutNoServers,
  answerInitialize,
  type GreetingOptions,
  gatewayCallTool,
  gatewaySearchTool,
  greetingFor,
  type InitializeRequest,
  joinInstructions,
  type ListingMode,
  type OwnTool,
  PAGES,
  passableExtensions,
} from './greeting.ts'
