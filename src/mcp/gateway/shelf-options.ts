// Options of the shelf behind a gateway.

/** Clients add a prefix of their own to tool names, and see tools only through MCP. */
export const shelfOptions = { namePrefix: '', toolSearch: false } as const
