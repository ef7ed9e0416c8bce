/** What programs post: JSON of a bounded size. */

/**
 * Reads a body of at most so many bytes. A page of another origin cannot send this type without asking first, which is answered with no.
 * @throws {TypeError} it is no JSON, or too large
 */
export async function postedJson(request: Request, most: number): Promise<unknown> {
  if (!/^application\/json\b/.test(request.headers.get('content-type') ?? ''))
    throw new TypeError('The body must be application/json')
  return parsed(await textOf(request, most))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new TypeError('The body is not JSON')
  }
}

/** The body as text; reading stops where it becomes too long, whatever its length was said to be. */
async function textOf({ body }: Request, most: number): Promise<string> {
  const decoder = new TextDecoder()
  let [text, size] = ['', 0]
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    if (size > most) throw new TypeError(`The body is longer than ${most} bytes`)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
