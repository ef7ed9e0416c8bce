import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { claim } from './claim.ts'

const MANY = 8

describe('the data of an engine', () => {
  let place: string
  let servers: net.Server[]

  beforeEach(() => {
    place = mkdtempSync(join(tmpdir(), 'claim-'))
    servers = []
  })
  afterEach(async () => {
    for (const server of servers.filter(({ listening }) => listening)) await close(server)
    rmSync(place, { recursive: true, force: true })
  })

  const close = async (server: net.Server) => {
    server.close()
    await once(server, 'close')
  }
  /** A running owner. */
  const owner = async () => {
    const n = servers.length
    const server = net.createServer((socket) => socket.resume()).listen(join(place, `socket-${n}`))
    servers.push(server)
    await once(server, 'listening')
    return { server, own: { socket: join(place, `socket-${n}`), url: `redis://${n}` } }
  }
  const locks = () => readdirSync(place).filter((name) => name.startsWith('redis'))
  const data = () => join(place, 'redis')

  it('belong to one until they are given back', async () => {
    const [one, other] = [await owner(), await owner()]
    const claimed = await claim(data(), one.own)
    assert.ok('release' in claimed)
    assert.deepEqual(await claim(data(), other.own), { owner: one.own })
    claimed.release()
    const later = await claim(data(), other.own)
    assert.ok('release' in later)
    later.release()
    assert.deepEqual(locks(), [])
  })

  it('belong to one of many who come at the same moment, after one that was killed', async () => {
    const killed = await owner()
    assert.ok('release' in (await claim(data(), killed.own)))
    await close(killed.server)
    const many = []
    for (let n = 0; n < MANY; n++) many.push(await owner())
    const claimed = await Promise.all(many.map(({ own }) => claim(data(), own)))
    assert.equal(claimed.filter((each) => 'release' in each).length, 1)
    assert.equal(locks().length, 1)
  })
})
