// Defines options of the shelf behind a gateway.

/**
 * No prefix and no tool search of the shelf itself: clients add their own prefix to tool names, and see tools only
 * through MCP.
 */
export const gatewayShelfOptions = { namePrefix: '', toolSearch: false } as const
