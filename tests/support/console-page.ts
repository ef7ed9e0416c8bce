/** The console's server as its page finds it, without a browser. */
import { connect, type UntypedWebClient, type WebClientOf } from '@elysia-microservices/websocket/client'
import { WebSocket } from 'ws'
import type { ConsoleService, Update } from '../../packages/console/dist/protocol.js'
import { within } from './within.ts'

/**
 * A client of the page's server.
 * @param page where the page is
 * @param headers those of the upgrade. Default: as the browser sends them for this page
 */
export function consoleOf(
  page: string,
  headers: Readonly<Record<string, string>> = { origin: new URL(page).origin }
): WebClientOf<ConsoleService> & AsyncDisposable {
  class AsPage extends WebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols, { headers })
    }
  }
  const client = connect({
    url: `${page}/socket`,
    WebSocket: AsPage,
    resume: false,
    logger: { error() {}, warn() {} }
  }) as UntypedWebClient & WebClientOf<ConsoleService>
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() })
}

/** Reads what a page is told until something of it is wanted. */
export async function toldTo<Found>(
  page: string,
  what: string,
  find: (update: Update) => Found | undefined
): Promise<Found> {
  await using client = consoleOf(page)
  const read = async () => {
    for await (const update of client.stream('updates')) {
      const found = find(update)
      if (found !== undefined) return found
    }
    throw new Error('The updates have ended')
  }
  return await within(read(), what)
}
