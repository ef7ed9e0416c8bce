/** Tests Unix sockets and the allow-list: every protocol on every kind of socket that this runtime has. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { authority, service } from '../testing/certificates.ts'
import { closed, Ends, isTried, SOCKETS } from '../testing/ends.ts'

/** A program that is killed and leaves the file of its server. */
const KILLED = `require('net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`

for (const [socketsName, sockets] of SOCKETS) {
  for (const protocol of ['nest', 'rsocket'] as const) {
    if (!isTried(socketsName, protocol)) continue
    describe(`a Unix socket with sockets of ${socketsName}, protocol ${protocol}`, () => {
      let ends: Ends
      let folder: string
      let path: string

      beforeEach(() => {
        ends = new Ends(sockets)
        folder = mkdtempSync(join(tmpdir(), 'unix-'))
        path = join(folder, 'service.sock')
      })
      afterEach(async () => {
        await ends.close()
        rmSync(folder, { recursive: true })
      })

      const client = () => ends.client(0, { protocol, path })

      it('answers, and removes its file when it stops', async () => {
        const server = await ends.server({ path })
        assert.deepEqual(server.address, { host: '', port: 0, path })
        assert.equal(await client().request('echo', 'x'.repeat(100_000)), 'x'.repeat(100_000))
        await server.stop({ drain: 0 })
        assert.ok(!existsSync(path))
        await assert.rejects(client().request('echo', 1), { name: 'ConnectionError', mayHaveRun: false })
        await server.start(ends.dispatcher)
        assert.equal(await client().request('echo', 1), 1)
      })

      it('speaks TLS too', async () => {
        await ends.server({ path, tls: service, limits: { handshake: 1_000 } })
        const secured = ends.client(0, { protocol, path, tls: { ca: authority } })
        assert.equal(await secured.request('echo', 1), 1)
        // Makes all handshakes at once, because peers of a Unix socket have no address by which to distinguish them.
        const others = Array.from({ length: 8 }, () =>
          ends.client(0, { protocol, path, tls: { ca: authority } })
        )
        for (const answer of await Promise.all(others.map((other) => other.request('later', 7))))
          assert.equal(answer, 7)
        const misnamed = { ca: authority, servername: 'other.test' }
        const wrong = ends.client(0, { protocol, path, tls: misnamed })
        await assert.rejects(wrong.request('echo', 1), { reason: 'TLS_WRONG_HOST' })
      })

      it('replaces the file of a server that has died', async () => {
        try {
          execFileSync('node', ['-e', KILLED, path], { stdio: 'ignore' })
        } catch {
          // `execFileSync` throws, because the program kills itself.
        }
        assert.ok(existsSync(path))
        await ends.server({ path })
        assert.equal(await client().request('echo', 1), 1)
      })

      it('leaves the file of a server that lives alone', async () => {
        await ends.server({ path })
        await assert.rejects(ends.server({ path }), { name: 'ListenError', code: 'EADDRINUSE' })
        assert.equal(await client().request('echo', 1), 1)
      })

      it('leaves a file that is no socket alone', async () => {
        writeFileSync(path, 'precious')
        await assert.rejects(ends.server({ path }), { name: 'ListenError', code: 'EADDRINUSE' })
        assert.equal(readFileSync(path, 'utf8'), 'precious')
      })

      it('does not remove what another has put in its place', async () => {
        const server = await ends.server({ path })
        rmSync(path)
        writeFileSync(path, 'precious')
        await server.stop({ drain: 0 })
        if (existsSync(path)) assert.equal(readFileSync(path, 'utf8'), 'precious')
      })
    })

    describe(`an allow-list with sockets of ${socketsName}, protocol ${protocol}`, () => {
      let ends: Ends

      beforeEach(() => {
        ends = new Ends(sockets)
      })
      afterEach(() => ends.close())

      it('lets in whom it names, by IPv4, IPv6 and both at once', async () => {
        const { address } = await ends.server({ allow: ['127.0.0.0/8'] })
        assert.equal(await ends.client(address!.port, { protocol }).request('echo', 1), 1)
        const both = await ends.server({ host: '::', allow: ['127.0.0.1', '::1'] })
        for (const host of ['127.0.0.1', '::1'])
          assert.equal(await ends.client(both.address!.port, { protocol, host }).request('echo', 1), 1)
      })

      for (const tls of [undefined, service]) {
        it(`closes others at once, and says so once${tls === undefined ? '' : ', before TLS'}`, async () => {
          const { address } = await ends.server({ allow: ['10.0.0.0/8', '::1'], tls })
          for (let attempt = 0; attempt < 3; attempt++) {
            await closed(net.connect(address!.port, '127.0.0.1'))
          }
          const options = tls === undefined ? {} : { tls: { ca: authority } }
          const client = ends.client(address!.port, { protocol, ...options })
          await assert.rejects(client.request('echo', 1), { name: 'ConnectionError' })
          assert.deepEqual(
            ends.logger.lines.filter((line) => line.includes('refused')),
            ['A connection of 127.0.0.1 was refused: the address is not one of options.allow']
          )
          assert.equal(ends.dispatcher.events.length, 0)
        })
      }
    })
  }
}
