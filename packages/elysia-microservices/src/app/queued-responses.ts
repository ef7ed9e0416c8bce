/**
 * Ends the responses of pipelined requests together with their socket. Node sends the responses of one socket one
 * after the other, and tells only the one being sent that the socket has closed. The others wait for a socket that
 * is gone: they get no 'close', so `request.signal` never aborts, and what they wait for runs on.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'

/** Makes a server of `node:http` emit 'close' at all responses of a socket that has closed. */
export function endQueuedResponses(server: Server): void {
  const queued = new WeakMap<object, Set<ServerResponse>>()
  const queuedAt = ({ socket }: IncomingMessage) => {
    const known = queued.get(socket)
    if (known !== undefined) return known
    const made = new Set<ServerResponse>()
    queued.set(socket, made)
    // One listener for all responses: there may be thousands.
    socket.once('close', () => {
      for (const response of made) close(response)
    })
    return made
  }
  // This listener is the first, so that the adapter has not ended the response yet.
  server.prependListener('request', (request, response) => {
    if (response.socket !== null) return
    const others = queuedAt(request)
    others.add(response)
    response.once('socket', () => others.delete(response))
  })
}

function close(response: ServerResponse): void {
  response.destroy()
  response.emit('close')
}
