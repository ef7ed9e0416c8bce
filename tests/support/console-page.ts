/** A client of the console's server, as the console's page is, without a browser. */

import { within } from '@elysia-microservices/test-support'
import { connect, type UntypedWebClient, type WebClientOf } from '@elysia-microservices/websocket/client'
import { WebSocket } from 'ws'
import type { ConsoleService, Update } from '../../tools/console/dist/protocol.js'

/**
 * A client of the page's server.
 * @param page the address of the page
 * @param headers the headers of the upgrade. Default: those that a browser sends for this page
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

/** Reads the updates that a page receives until the wanted one arrives. */
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
