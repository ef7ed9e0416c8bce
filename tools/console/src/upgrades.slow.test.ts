/** Requests for an upgrade that the console does not know. Slow, because the page has to be built to be served. */
import assert from 'node:assert/strict'
import net from 'node:net'
import { describe, it } from 'node:test'
import { memory } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { openConsole } from './standalone.ts'

describe('openConsole', () => {
  for (const [path, upgrade, method, status] of [
    ['/console', 'h2c', 'GET', 200],
    ['/console', 'websocket', 'GET', 403],
    ['/nowhere', 'websocket', 'GET', 404],
    ['/console/socket', 'h2c', 'GET', 426],
    ['/console', 'h2c', 'POST', 400]
  ] as const)
    it(`answers ${method} ${path} that asks for an upgrade to ${upgrade}, and closes the socket`, async () => {
      const client = connect({ transport: memory(), logger: { error() {}, warn() {} } })
      const opened = await openConsole({ port: 0, services: { client } })
      try {
        const { port, host } = new URL(opened.url)
        const socket = net.connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true })
        socket.write(
          `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: upgrade\r\nupgrade: ${upgrade}\r\n${method === 'POST' ? 'content-length: 2\r\n\r\n{}' : '\r\n'}`
        )
        let answer = ''
        socket.on('error', () => {})
        for await (const chunk of socket) answer += String(chunk)
        assert.equal(answer.split(' ')[1], String(status))
        // The server has closed both directions: what is written now is not taken any more.
        while (!socket.destroyed) {
          socket.write('x')
          await new Promise((resolve) => setImmediate(resolve))
        }
      } finally {
        await opened.close()
        await client.close()
      }
    })
})
