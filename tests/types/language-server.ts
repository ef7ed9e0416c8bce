/** A client of the compiler's language server, which editors use: types and completions at a position of a file. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { tsc } from '../workspace.ts'

interface Reply {
  readonly id?: number
  readonly method?: string
  readonly result?: unknown
  readonly error?: { readonly message: string }
}

/** A language server with one file open. */
export class LanguageServer {
  readonly #process = spawn(tsc, ['--lsp', '--stdio'], { stdio: ['pipe', 'pipe', 'inherit'] })
  readonly #waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>()
  #input = Buffer.alloc(0)
  #ids = 0
  readonly #uri: string
  #text: string
  #version = 1

  private constructor(file: string) {
    this.#uri = pathToFileURL(file).href
    this.#text = readFileSync(file, 'utf8')
    this.#process.stdout.on('data', (bytes: Buffer) => this.#read(bytes))
    this.#process.on('exit', (code) => {
      for (const { reject } of this.#waiting.values())
        reject(new Error(`The language server has ended: ${code}`))
    })
  }

  static async open(file: string): Promise<LanguageServer> {
    const server = new LanguageServer(file)
    const textDocument = { hover: { contentFormat: ['plaintext'] } }
    await server.#ask('initialize', { processId: process.pid, rootUri: null, capabilities: { textDocument } })
    server.#tell('initialized', {})
    server.#tell('textDocument/didOpen', {
      textDocument: {
        uri: server.#uri,
        languageId: 'typescript',
        version: server.#version,
        text: server.#text
      }
    })
    return server
  }

  /** Changes the file as a user does, so that the server has to check it again. */
  change(text: string): void {
    this.#text = text
    this.#tell('textDocument/didChange', {
      textDocument: { uri: this.#uri, version: ++this.#version },
      contentChanges: [{ text }]
    })
  }

  /** The type and documentation that an editor shows at a position in a text of the file. */
  async hover(text: string, place: number): Promise<string> {
    const answer = await this.#at('textDocument/hover', text, '', place)
    return (answer as { readonly contents: { readonly value: string } }).contents.value
  }

  /** The completions that an editor offers between two texts. */
  async completion(text: string, next: string): Promise<string[]> {
    const answer = await this.#at('textDocument/completion', text, next, text.length)
    return (answer as { readonly items: readonly { readonly label: string }[] }).items.map(
      ({ label }) => label
    )
  }

  /**
   * The processor milliseconds that the server has used, itself or in the program that it starts. Only Linux reports
   * them.
   */
  processorTime(): number {
    return processorTimeOf(this.#process.pid ?? 0)
  }

  async close(): Promise<void> {
    const ended = once(this.#process, 'exit')
    await this.#ask('shutdown', undefined)
    this.#tell('exit', undefined)
    await ended
  }

  #at(method: string, text: string, next: string, place: number): Promise<unknown> {
    const at = this.#text.indexOf(`${text}${next}`)
    if (at < 0) throw new Error(`The file has no ${text}${next}`)
    const before = this.#text.slice(0, at + place).split('\n')
    const position = { line: before.length - 1, character: before.at(-1)?.length ?? 0 }
    return this.#ask(method, { textDocument: { uri: this.#uri }, position })
  }

  #ask(method: string, params: unknown): Promise<unknown> {
    const id = ++this.#ids
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#send({ id, method, params })
    })
  }

  #tell(method: string, params: unknown): void {
    this.#send({ method, params })
  }

  #send(message: object): void {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message })
    this.#process.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
  }

  #read(bytes: Buffer): void {
    this.#input = Buffer.concat([this.#input, bytes])
    for (;;) {
      const head = this.#input.indexOf('\r\n\r\n')
      if (head < 0) return
      const length = Number(/Content-Length: (\d+)/.exec(this.#input.toString('latin1', 0, head))?.[1])
      const end = head + 4 + length
      if (this.#input.length < end) return
      this.#take(JSON.parse(this.#input.toString('utf8', head + 4, end)) as Reply)
      this.#input = this.#input.subarray(end)
    }
  }

  #take({ id, method, result, error }: Reply): void {
    // A request of the server, such as for settings: the answer is that there are none.
    if (method !== undefined) {
      if (id !== undefined) this.#send({ id, result: null })
      return
    }
    const waiting = this.#waiting.get(Number(id))
    this.#waiting.delete(Number(id))
    if (error === undefined) waiting?.resolve(result)
    else waiting?.reject(new Error(error.message))
  }
}

/** The milliseconds of a tick, the unit in which Linux counts processor time. */
const TICK = 10

function processorTimeOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  const own = (Number(fields[11]) + Number(fields[12])) * TICK
  return children.reduce((sum, child) => sum + processorTimeOf(Number(child)), own)
}
