/** Says in words what the error codes of the system mean. A web page, whose sockets have no codes, does without. */

const IN_WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset by the other side',
  EPIPE: 'the other side has closed the connection',
  ENOTFOUND: 'there is no host with that name',
  EAI_AGAIN: 'the DNS server does not answer',
  EHOSTUNREACH: 'there is no route to that host',
  ENETUNREACH: 'there is no route to that network',
  ETIMEDOUT: 'the system waited too long for an answer',
  ENOENT: 'there is no such socket file',
  EACCES: 'this user has no permission to use it'
}

/** The reason for a failure as text. The code of the system is preferred, because the messages of runtimes say less. */
export function reasonOf(cause: Error & { code?: unknown }): string {
  return (typeof cause.code === 'string' && IN_WORDS[cause.code]) || cause.message
}
