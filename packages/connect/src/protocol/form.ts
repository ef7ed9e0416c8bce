/** The form of a request: its protocol and the format of its messages, which its content type names. */

/** How the messages of a request and of its answer are written. */
export interface Form {
  /**
   * `connect`: the body is the message. `connect-stream`: the body has envelopes, and the last one of an answer is
   * JSON. `grpc-web`: the body has envelopes, and the last one of an answer is text.
   */
  readonly protocol: 'connect' | 'connect-stream' | 'grpc-web'
  /** Whether messages are JSON, and not protobuf's bytes. */
  readonly isJson: boolean
  /** Whether both bodies are base64, as for clients of gRPC-Web that cannot read bytes. */
  readonly isText: boolean
  /** The content type of the answer. */
  readonly contentType: string
}

const FORMS: ReadonlyMap<string, Form> = new Map(
  (
    [
      ['application/proto', 'connect', false],
      ['application/json', 'connect', true],
      ['application/connect+proto', 'connect-stream', false],
      ['application/connect+json', 'connect-stream', true],
      ['application/grpc-web', 'grpc-web', false],
      ['application/grpc-web+proto', 'grpc-web', false],
      ['application/grpc-web+json', 'grpc-web', true],
      ['application/grpc-web-text', 'grpc-web', false],
      ['application/grpc-web-text+proto', 'grpc-web', false]
    ] as const
  ).map(([contentType, protocol, isJson]): [string, Form] => {
    const isText = contentType.startsWith('application/grpc-web-text')
    return [contentType, { protocol, isJson, isText, contentType }]
  })
)

/**
 * The form of a request; `undefined` if the method takes no requests of this content type.
 * @param streams whether the method has a stream in any direction
 */
export function formOf(contentType: string | null, streams: boolean): Form | undefined {
  const [type = '', ...parameters] = (contentType ?? '').split(';')
  const form = FORMS.get(type.trim().toLowerCase())
  if (form === undefined || !parameters.every(isUtf8)) return undefined
  return isFor(form, streams) ? form : undefined
}

/** The content types that a method takes, for the header `accept-post`. */
export function acceptedTypes(streams: boolean): string {
  return [...FORMS]
    .filter(([, form]) => isFor(form, streams))
    .map(([type]) => type)
    .join(', ')
}

/** The form of a request whose message is in its URL. @param encoding the parameter `encoding` */
export function formInUrl(encoding: string | null): Form | undefined {
  return FORMS.get(`application/${encoding === 'json' || encoding === 'proto' ? encoding : ''}`)
}

function isFor({ protocol }: Form, streams: boolean): boolean {
  return protocol === 'grpc-web' || (protocol === 'connect-stream') === streams
}

/** Whether a parameter of a content type says nothing but that the text is UTF-8. */
function isUtf8(parameter: string): boolean {
  return /^\s*(?:charset\s*=\s*"?utf-8"?\s*)?$/i.test(parameter)
}
