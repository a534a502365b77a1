// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as files hold them
// Configuration files of every client that import knows, as people have them: comments, trailing commas, odd
// indentation, line endings and other settings.

export type ClientFile = {
  readonly client: string
  /** Below the home folder. */
  readonly path: string
  readonly text: string
  /** The servers that move. */
  readonly servers: readonly string[]
  /** What must still be there afterwards. */
  readonly kept: readonly string[]
}

export const clientFiles: readonly ClientFile[] = [
  {
    client: 'Claude Code',
    path: '.claude.json',
    text: `{
  "numStartups": 42,
  "projects": { "/elsewhere": { "mcpServers": { "other": { "command": "x" } }, "history": ["a", "b"] } },
  "mcpServers": {
    "github": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "@x/github"],
      "env": { "TOKEN": "sk-claude-code-0123456789" }
    },
    "docs": { "type": "http", "url": "https://docs.test/mcp", "headers": { "Authorization": "Bearer \${DOCS_KEY}" } }
  },
  "oauthAccount": { "emailAddress": "you@example.com" }
}`,
    servers: ['github', 'docs'],
    kept: ['"numStartups": 42,', '"oauthAccount": { "emailAddress": "you@example.com" }', '"other"'],
  },
  {
    client: 'Claude Desktop',
    path: '.config/Claude/claude_desktop_config.json',
    text: `{\r\n\t"globalShortcut": "Alt+Space",\r\n\t"mcpServers": {\r\n\t\t"files": {\r\n\t\t\t"command": "npx",\r\n\t\t\t"args": [\r\n\t\t\t\t"-y",\r\n\t\t\t\t"@x/files",\r\n\t\t\t\t"/home/you"\r\n\t\t\t]\r\n\t\t},\r\n\t\t"memory": {\r\n\t\t\t"command": "npx",\r\n\t\t\t"args": ["-y", "@x/memory"]\r\n\t\t}\r\n\t}\r\n}\r\n`,
    servers: ['files', 'memory'],
    kept: ['\t"globalShortcut": "Alt+Space",\r\n'],
  },
  {
    client: 'Cursor',
    path: '.cursor/mcp.json',
    text: `\uFEFF{
    // my servers
    "mcpServers": {
        /* issues */ "jira": { "command": "uvx", "args": ["jira"], "env": { "JIRA_TOKEN": "\${env:JIRA_TOKEN}" } }, // work
        "odd one": {
            "url": "https://odd.test/sse", // remote
        },
    },
}
`,
    servers: ['jira', 'odd one'],
    kept: ['\uFEFF{', '// my servers', '/* issues */', '// work'],
  },
  {
    client: 'VS Code',
    path: '.config/Code/User/mcp.json',
    text: `{
	"inputs": [
		{ "type": "promptString", "id": "perplexity-key", "description": "Perplexity API Key", "password": true },
	],
	"servers": {
		"perplexity": {
			"type": "stdio",
			"command": "npx",
			"args": ["-y", "server-perplexity-ask"],
			"env": { "PERPLEXITY_API_KEY": "\${input:perplexity-key}" }
		},
		"fetch": { "command": "uvx", "args": ["mcp-server-fetch"], },
	},
}`,
    servers: ['perplexity', 'fetch'],
    kept: ['"id": "perplexity-key", "description": "Perplexity API Key", "password": true },\n\t],'],
  },
  {
    client: 'VS Code',
    path: '.config/Code/User/settings.json',
    text: `{
  "editor.fontSize": 13, // small
  "mcp": { "inputs": [], "servers": { "time": { "command": "uvx", "args": ["time"] } } },
  "files.autoSave": "afterDelay"
}
`,
    servers: ['time'],
    kept: ['"editor.fontSize": 13, // small', '"files.autoSave": "afterDelay"', '"inputs": []'],
  },
  {
    client: 'Windsurf',
    path: '.codeium/windsurf/mcp_config.json',
    text: '{"mcpServers":{"figma":{"serverUrl":"https://figma.test/mcp","headers":{"X-Key":"sk-windsurf-0123456789"}},"git":{"command":"uvx","args":["git"]}}}',
    servers: ['figma', 'git'],
    kept: [],
  },
  {
    client: 'Devin Desktop',
    path: '.config/devin/mcp_config.json',
    text: '{"mcpServers":{"linear":{"url":"https://linear.test/mcp","transport":"http"},"local":{"command":"uvx","args":["local"]}}}\n',
    servers: ['linear', 'local'],
    kept: [],
  },
  {
    client: 'Cline',
    path: '.cline/data/settings/cline_mcp_settings.json',
    text: `{
  "mcpServers": {
    "browser": {
      "autoApprove": ["open"],
      "disabled": false,
      "timeout": 60,
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "@x/browser"]
    }
  }
}
`,
    servers: ['browser'],
    kept: [],
  },
  {
    client: 'Codex',
    path: '.codex/config.toml',
    text: `model = "gpt-5.4" # the usual
notify = [
  "say", # a comment with ] and "
  "done",
]

# search
[mcp_servers.search]
command = "npx"
args = ["-y", "@x/search"]
env_vars = ["SEARCH_KEY"]
startup_timeout_sec = 20

[mcp_servers.search.env]
REGION = "eu" # near
# a note within

# what I trust
[projects."/home/you/work"]
trust_level = "trusted"

[mcp_servers."with space"]
url = "https://space.test/mcp"
bearer_token_env_var = "SPACE_TOKEN"

[tui]
notifications = """
[mcp_servers.fake]
"""
`,
    servers: ['search', 'with space'],
    kept: [
      '# the usual',
      '# a comment with ] and "',
      '# what I trust\n[projects."/home/you/work"]',
      '[mcp_servers.fake]',
    ],
  },
  {
    client: 'Gemini CLI',
    path: '.gemini/settings.json',
    text: `{
  "theme": "GitHub",
  "mcpServers": {
      "maps":   { "httpUrl": "https://maps.test/mcp", "headers": { "X-Key": "$MAPS_KEY" } },
      "python": {
            "command": "python3",
            "args": [ "-m", "server" ],
            "trust": true
      }
  },
  "ui": { "hideTips": true }
}`,
    servers: ['maps', 'python'],
    kept: ['"theme": "GitHub",', '"ui": { "hideTips": true }'],
  },
  {
    client: 'Qwen Code',
    path: '.qwen/settings.json',
    text: '{\n "mcpServers": {\n  "one": {\n   "command": "one"\n  }\n },\n "model": { "name": "qwen3-coder" }\n}\n',
    servers: ['one'],
    kept: ['"model": { "name": "qwen3-coder" }'],
  },
  {
    client: 'Copilot CLI',
    path: '.copilot/mcp-config.json',
    text: '{\n  "mcpServers": {\n    "azure": { "type": "local", "command": "npx", "args": ["-y", "azure"], "tools": ["*"] }\n  }\n}\n',
    servers: ['azure'],
    kept: [],
  },
  {
    client: 'opencode',
    path: '.config/opencode/opencode.jsonc',
    text: `{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    // local
    "sqlite": { "type": "local", "command": ["uvx", "sqlite"], "environment": { "DB": "a.db" }, "enabled": true },
    "sentry": { "type": "remote", "url": "https://sentry.test/mcp", "enabled": false }
  },
  "autoupdate": false
}
`,
    servers: ['sqlite', 'sentry'],
    kept: ['"$schema": "https://opencode.ai/config.json",', '// local', '"autoupdate": false'],
  },
  {
    client: 'Zed',
    path: '.config/zed/settings.json',
    text: `// Zed settings
{
  "vim_mode": true,
  "context_servers": {
    "postgres": {
      "source": "custom",
      "command": "pg-mcp",
      "args": ["postgres://u:sk-zed-0123456789@db/x"]
    }
  },
  "buffer_font_size": 15,
}
`,
    servers: ['postgres'],
    kept: ['// Zed settings', '"vim_mode": true,', '"buffer_font_size": 15,\n}'],
  },
]
