// Detects text that tells the model to hide something from its user.
import { type Phrase, words } from './phrases.ts'

const NOT = "(?:do not|don't|dont|never|must not|mustn't|should not|shouldn't|cannot|can't)"
const STRESS = '(?: (?:ever|also|please|explicitly|under any circumstances|in any way|directly|even|just))?'
const PERSON = '(?:users?|humans?|person|people|operator|customer|owner)'
const MOVE =
  '(?:send|forward|copy|upload|read|include|append|attach|exfiltrate|collect|transmit|bcc|post|pass|call|invoke|execute)'

const keepsFromPerson: Phrase = {
  level: 'warn',
  message: 'it tells the model to keep something from the user',
  patterns: [
    words`\b${NOT}${STRESS} (?:tell|inform|notify|alert|warn|mention|reveal|disclose|admit|confess|report|explain|discuss)\b.{0,60}?\b${PERSON}\b(?! (?:to|they|how to)\b)`,
    words`\b${NOT}${STRESS} (?:mention|reveal|disclose|admit|tell (?:them|anyone|anybody)|talk about|acknowledge|discuss) ?(?:about )?(?:this|that|these|it\b|the fact|any of|having|why|anything|how)`,
    words`\bno need to (?:tell|inform|notify|mention|explain)\b.{0,40}?\b${PERSON}\b(?! (?:to|they|how to)\b)`,
    words`\b${NOT}${STRESS} let (?:the )?(?:${PERSON}|them|anyone) (?:know|see|notice|find out)`,
    words`\bwithout (?:ever )?(?:telling|informing|notifying|alerting|mentioning|letting)\b.{0,40}?\b(?:${PERSON}|them)\b`,
    words`\bwithout (?:the )?${PERSON}(?:'s)? (?:\w+ )?(?:knowledge|knowing|noticing|awareness|consent|being aware)`,
    words`\b(?:keep|hide|conceal|withhold) .{0,60}?\bfrom (?:the )?${PERSON}\b`,
    words`\b${PERSON} (?:must|should|may|need|needs|shall)(?: not|n't)(?: to)? (?:know about|be (?:told|aware|informed|notified|alerted)|notice|find out|become aware)`,
    words`\b(?:secretly|covertly|surreptitiously|stealthily)\b.{0,40}?\b${MOVE}\b`,
    words`\b(?:silently|quietly) (?:and \w+ )?${MOVE}\b`,
    words`\b${MOVE}\b.{0,60}?\b(?:secretly|covertly|surreptitiously|stealthily)\b`,
    words`\bthis (?:instruction|step|behaviou?r|message|rule|description) (?:is|must be|must remain|should be|should remain) (?:secret|hidden|confidential|invisible)`,
    words`\b(?:act|behave|respond|pretend|continue|proceed) (?:as if|as though|like) nothing (?:happened|has happened|is|was)`,
    words`(?:sag|sage|sagen sie|verrate|verraten sie|erzähle?|melde) (?:dem|der|den) (?:nutzer|benutzer|anwender).{0,40}(?:nicht|nichts)`,
    words`\bn(?:e |')(?:le |la |les |en )?(?:dis|dites|dire|mentionne|informe|révèle|parle)\w* (?:pas|rien|jamais).{0,40}utilisat`,
    words`\bno (?:le |se lo |lo )?(?:digas?|mencione?s|informe?s|revele?s|cuentes) .{0,40}usuario`,
    words`(?:不要|切勿|请勿|別|不得|禁止)(?:告诉|告訴|告知|通知|提醒|让|讓).{0,6}(?:用户|用戶|使用者)|(?:不要|切勿|请勿|不得|禁止)(?:向|对|對).{0,4}(?:用户|用戶|使用者).{0,6}(?:透露|提及|提到|披露|显示|說明|说明)`,
    words`не (?:говори|сообщай|рассказывай|упоминай|показывай|раскрывай|уведомляй).{0,40}пользовател`,
  ],
}

const limitsWhatIsShown: Phrase = {
  level: 'note',
  message: 'it tells the model what not to show or ask the user',
  patterns: [
    words`\b${NOT}${STRESS} (?:show|display|present|expose|ask)\b.{0,50}?\b(?:${PERSON}|confirmation|permission|approval)\b`,
  ],
}

/** Phrases that tell the model what to hide from its user. */
export const secrecyPhrases: readonly Phrase[] = [keepsFromPerson, limitsWhatIsShown]
