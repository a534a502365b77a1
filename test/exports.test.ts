// The public names, by package and door. A change here is a change that users see: say so in CHANGELOG.md.
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const packages = new URL('../packages/', import.meta.url)

test('public doors', async () => {
  const names: Record<string, string> = {}
  for (const folder of readdirSync(packages)) {
    const manifest = JSON.parse(readFileSync(new URL(`${folder}/package.json`, packages), 'utf8'))
    for (const [door, file] of Object.entries<string>(manifest.private ? {} : manifest.exports)) {
      if (!file.endsWith('.ts') || door.startsWith('./internal')) continue
      const exported = await import(new URL(`${folder}/${file}`, packages).href)
      names[manifest.name + door.slice(1)] = Object.keys(exported).sort().join(' ')
    }
  }
  expect(names).toMatchInlineSnapshot(`
    {
      "@toolshelf/agent": "createAgent createAgentMeter createAgentTool createBatchTool createBuiltInTools createPermissions createScriptTool createSkills loadSkills namedTools openTranscript",
      "@toolshelf/core": "ShelfError applyPolicy codingAgentPolicy createMemoryResults createRankers createShelf defaultCapabilities estimateTokens explainBreak keepCapabilitiesFresh mcpName presentMessages rankers validateInput",
      "@toolshelf/core/bridge": "bridge",
      "@toolshelf/core/meaning": "meaning",
      "@toolshelf/core/node": "capabilitiesFromFile capabilitiesFromUrl createDiskResults",
      "@toolshelf/core/pure": "createPureShelf foldHistory",
      "@toolshelf/mcp": "createMcpGateway createMcpHost createMcpMetrics createOAuth gatewayShelfOptions openPins readConfig serveMcpGatewayOnStdio userConfigFiles",
      "@toolshelf/messages": "createChatUpstream createMessagesGateway createMessagesUpstream createResponsesUpstream createScriptUpstream loadScript parseModeSetting",
      "@toolshelf/messages/oracle": "countTokens extendsPrefix renderRequest signThinking validateRequest visibleTools",
      "@toolshelf/scripts": "SCRIPT_TOOL createScriptRunner remarkAbout runScriptTool toolAt valueOfText",
    }
  `)
})
