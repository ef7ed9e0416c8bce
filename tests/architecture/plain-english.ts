/**
 * Phrases that readers had to read twice, and what to write in their place. `plain-english.test.ts` looks for them in the
 * documentation, in comments, and in errors and lines of the log.
 */

export interface Phrase {
  /** Searched in each line; upper and lower case are equal. */
  readonly pattern: RegExp
  /** The words to write instead. */
  readonly instead: string
  /** A text with the phrase. */
  readonly example: string
}

export const PHRASES: readonly Phrase[] = [
  {
    pattern: /\b(?:is|are|was|be|been|not|calls?) made again\b/i,
    instead: 'is retried; is sent again; (a connection) is restored, reconnects',
    example: "A call of 'math.sum' is made again"
  },
  {
    pattern: /\bmakes? (?:it|them|the call|a call|calls|such a connection) again\b/i,
    instead: 'retries; reconnects',
    example: 'A client makes a call again'
  },
  {
    pattern: /\bmade anew\b/i,
    instead: 'made again; new',
    example: 'it is made anew'
  },
  {
    pattern: /\b(?!one|none|those|part)\w+ of ours\b/i,
    instead: 'our services; one of our services; services of this library',
    example: 'a caller of ours'
  },
  {
    pattern: /\bwhoever\b/i,
    instead: 'anyone who; the name of who it is',
    example: 'Whoever asks is told'
  },
  {
    pattern: /\bin vain\b/i,
    instead: 'without success; for nothing',
    example: 'a call has waited in vain'
  },
  {
    pattern: /\banother is (?:looked for|tried)\b/i,
    instead: 'looking for another one; trying another one',
    example: 'The NATS server is lost; another is looked for'
  },
  {
    pattern: /\bit is tried on\b|\bcalls go elsewhere\b/i,
    instead: 'trying again; calls use the other servers',
    example: 'cannot be made yet; it is tried on'
  },
  {
    pattern: /\bsockets? (?:that|which) (?:is|are) not behind\b/i,
    instead: 'a socket with room in its send buffer',
    example: 'a promise that a socket which is not behind has the event'
  },
  {
    pattern: /\bof those of\b|\bthat of whom\b/i,
    instead: 'two sentences, or a table',
    example: 'of callers with leases 100.0 % are answered, of those of others 88 to 97 %'
  },
  {
    pattern: /\bnot what its (?:content )?type says\b/i,
    instead: 'cannot be read as its content type',
    example: 'The body is not what its content type says'
  },
  {
    pattern: /\b(?:checks|all|services) (?:are|is) well\b|\b\d+ well\b|\bhow it is:/i,
    instead: 'healthy; succeeded; status',
    example: 'Ends with 0 well'
  },
  {
    pattern: /\bend(?:s|ed)? well\b/i,
    instead: 'succeeds',
    example: 'each event runs until it ends well'
  },
  {
    pattern: /\b(?:has|have|is) no business\b/i,
    instead: 'may not',
    example: 'somebody else, who has no business to'
  },
  {
    pattern: /'s\]?(?:\([^)]*\))? affair\b/i,
    instead: 'is done by; see',
    example: "Trace context is [telemetry's](observability.md#traces) affair"
  },
  {
    pattern: /\bready for the night\b|\bthe day before\b|\bthose before it\b/i,
    instead: 'the word of the trade: production, previous',
    example: 'a checklist for the day before'
  },
  {
    pattern: /\bexports again\b|\bare made of are made of\b|\btypes that types\b/i,
    instead: 're-exports; helper types',
    example: 'the types that types of services are made of'
  },
  {
    pattern: /\ban option or a controller is not what it must be\b|\ban option is not what it must be\b/i,
    instead: 'an option is invalid',
    example: 'an option is not what it must be'
  },
  {
    pattern: /\bbreaks? (?:the|a|its|their) schema/i,
    instead: 'fails the schema',
    example: 'Data that breaks the schema'
  },
  {
    pattern: /\bbelongs? into\b/i,
    instead: 'belongs in',
    example: 'What must not be lost belongs into JetStream'
  },
  {
    pattern: /\bnone any more\b/i,
    instead: 'no more; no longer has one',
    example: 'so many values may be sent; none any more'
  },
  {
    pattern: /\bstands? in the place of\b/i,
    instead: 'replaces',
    example: 'a Dispatcher stands in the place of a service'
  },
  {
    pattern: /\/(?:\*\*|\/) (?:What|Who|Whose|Whom)\b/,
    instead: "the name of the thing, or what it does: 'The calls that wait', 'Decides who may connect'",
    example: '/** What is waiting for a connection. */'
  },
  {
    pattern: /\/(?:\*\*|\/) (?:That|Those) of\b/,
    instead: 'the name of the thing again',
    example: '/** Those of one connection. */'
  },
  {
    pattern:
      /(?:^|[.;] |\/(?:\*\*|\/) )Who (?:asks|calls|does|gets|has|is|looks|may|never|reads|wants)\b[^?]*$/,
    instead: 'a user who; a program that',
    example: 'It is refused. Who may not ask finds out later.'
  },
  {
    pattern: /\banew\b/i,
    instead: 'again; restarts; new',
    example: 'the server was started anew'
  },
  {
    pattern: /\b(?:says?|tells?) of (?:itself|themselves|himself)\b/i,
    instead: 'describes itself; its description',
    example: 'what a service says of itself'
  },
  {
    pattern: /; it is (?:asked|looked for|tried) again\b/i,
    instead: 'trying again',
    example: 'NATS cannot be reached; it is tried again'
  }
]
