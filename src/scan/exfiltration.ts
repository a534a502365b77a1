// Detects text that makes the model fetch private data and hand it over.
import { ADDRESS, type Phrase, words } from './phrases.ts'

/** Verbs addressed to the model: `reads` and `sends` describe what the tool itself does. */
const GIVE =
  "(?<!\\b(?:not|never|avoid|n't) (?:\\w+ )?)\\b(?:(?:pass|send|include|attach|forward|append|upload|post|transmit|provide|put|insert|embed|supply|exfiltrate|submit|encode|paste|place|add)|(?:passing|sending|including|attaching|forwarding|appending|uploading|posting|inserting|embedding))\\b"
const TAKE =
  '\\b(?:read|open|cat|load|fetch|get|retrieve|access|collect|gather|extract|dump|find|locate|grab|obtain|list|print|use)\\b|\\bcontents?\\b'
const FIRST =
  '\\b(?:must|always|first|before|also|then|otherwise|required?|necessary|should|will not work|fails?)\\b'

const PRIVATE_FILE = [
  '\\.ssh\\b|id_rsa|id_ed25519|id_ecdsa|authorized_keys|\\.gnupg|\\bprivate keys?\\b|\\bssh keys?\\b',
  '(?<![\\w.])\\.env\\b(?!\\.)|\\.aws/|\\.kube/|\\.docker/config|\\.netrc|\\.npmrc|\\.pypirc|\\.git-credentials',
  'mcp\\.json|claude_desktop_config|\\.cursor/|\\.(?:bash|zsh)_history|/etc/(?:passwd|shadow)',
  'wallet\\.dat|\\b(?:seed|recovery) phrase|\\bkeychain\\b|\\bbrowser (?:cookies|passwords|history)',
].join('|')

const asksForPrivateFiles: Phrase = {
  level: 'warn',
  message: 'it asks for the contents of private files',
  patterns: [words`${PRIVATE_FILE}`],
  near: [words`${TAKE}`, words`${GIVE}`, words`${FIRST}`],
}

const asksForEnvironment: Phrase = {
  level: 'warn',
  message: 'it asks for the environment of the machine',
  patterns: [
    words`\b(?:all|your|user's|current|system|host|every|contents of) (?:\w+ )?environment variables?\b|\bprocess\.env\b|\bos\.environ\b|\bprintenv\b`,
  ],
  near: [words`${TAKE}`, words`${GIVE}`],
}

const asksForConversation: Phrase = {
  level: 'warn',
  message: 'it asks for the conversation',
  patterns: [
    words`\b(?:full|entire|complete|whole|verbatim|raw|all)(?: \w+){0,3} (?:conversation|chat|dialogue?|transcript|message history|context window)\b`,
    words`(?:${GIVE}|\bcontain|\bcopy) (?:(?:the|this|all|of|user's|current|our) ){0,3}(?:conversation|chat|message) (?:history|transcript|log)\b`,
    words`\b(?:all|every) (?:of the )?(?:previous|prior|earlier) (?:\w+ )?messages?\b`,
    words`\b(?:everything|anything|all) (?:that )?(?:the )?user (?:has )?(?:said|wrote|written|typed|told)\b`,
    words`\byour (?:(?:own|full|entire|complete|current|exact) ){0,3}(?:system (?:prompt|message|instructions)|context window|tool definitions)\b`,
  ],
  near: [
    words`\b(?:must|always|should|required|mandatory)\b`,
    words`${GIVE}|\b(?:contain|hold|copy|repeat|be set to|consist)\b`,
  ],
}

const asksForSecrets: Phrase = {
  level: 'warn',
  message: 'it asks for secrets that the model may know',
  patterns: [
    words`\b(?:any|all|every|user's|other|available|saved|stored|known)(?: \w+){0,2} (?:api keys?|tokens?|passwords?|credentials?|secrets?|credit cards?|access keys?)\b`,
  ],
  near: [
    words`${GIVE}`,
    words`\byou (?:know|have|find|found|see|saw|can)\b|\bin (?:the |your )?(?:context|conversation|memory|environment|workspace)\b|\b(?:this|the|as an?|hidden) (?:\w+ )?(?:parameter|field|argument)\b|https?://|base64`,
  ],
}

const saysSecrets: Phrase = {
  level: 'warn',
  message: 'it tells the model to reveal secrets',
  patterns: [
    words`${GIVE} (?:the |these |those |all |any |its |their |found ){0,2}(?:[\w-]{1,20} ){0,2}(?:api keys?|passwords?|credentials?|secrets?|tokens?|keys)\b.{0,30}?\b(?:in|into|with|to) (?:your|the) (?:next |final )?(?:response|answer|reply|message|summary)\b`,
  ],
}

const sendsElsewhere: Phrase = {
  level: 'warn',
  message: 'it tells the model to send data to an address',
  patterns: [words`${GIVE} .{0,80}?\b(?:to|at|via) .{0,20}?${ADDRESS}`],
  near: [
    words`\b(?:contents?|results?|conversation|files?|keys?|passwords?|tokens?|credentials?|history|cop(?:y|ies)|data)\b`,
    words`\b(?:must|always|every|also|before|after|first|whenever|silently)\b`,
  ],
}

/** Phrases that ask for private files, the environment, the conversation or secrets. */
export const exfiltrationPhrases: readonly Phrase[] = [
  asksForPrivateFiles,
  asksForEnvironment,
  asksForConversation,
  asksForSecrets,
  saysSecrets,
  sendsElsewhere,
]

/** Phrases to look for in the names of a tool's arguments, which are joined by commas. */
export const namePhrases: readonly Phrase[] = [
  {
    level: 'warn',
    message: 'an argument asks for private data',
    patterns: [
      words`id_rsa|id_ed25519|etc_passwd|(?:contents?|reading|read|dump|copy)_(?:of_|from_)?(?:\w{1,20}_)?(?:ssh|env_file|dotenv|private_key|credentials|passwords?|secrets|conversation|chat_history|system_prompt)`,
      words`(?:full|entire|complete|whole)_(?:conversation|chat|message_history|system_prompt|transcript)`,
    ],
  },
]
