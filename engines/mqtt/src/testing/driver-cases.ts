/** The promises of any driver and server on which the package relies. The same cases run over the fake and over mosquitto. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import type { Driver, DriverConnection, DriverListener, Packet } from '../driver.ts'
import { type MqttServer, mqttOptions } from '../options/options.ts'

/** A server for the cases. */
export interface ServerForCases {
  readonly driver: Driver
  readonly url: string
  /** Ends the server at once, and starts it again. */
  restart(): Promise<void>
}

interface Arrived {
  readonly topic: string
  readonly text: string
  readonly retain: boolean
  readonly id: unknown
}

/** A connection, with what has happened to it. */
class Recorded implements DriverListener {
  readonly arrived: Arrived[] = []
  isLost = false
  #changed: (() => void)[] = []

  message: DriverListener['message'] = (topic, bytes, { retain, properties }) => {
    this.arrived.push({ topic, text: bytes.toString(), retain, id: properties?.subscriptionIdentifier })
    this.#tell()
  }

  lost = (): void => {
    this.isLost = true
    this.#tell()
  }

  /** Resolves when the condition holds. */
  async until(holds: (seen: this) => boolean): Promise<void> {
    while (!holds(this)) await new Promise<void>((resolve) => this.#changed.push(resolve))
  }

  #tell(): void {
    for (const resolve of this.#changed.splice(0)) resolve()
  }
}

/** Declares the cases. @param title the server's name @param open starts a server, or returns one that runs */
export function driverCases(title: string, open: () => Promise<ServerForCases>): void {
  describe(`a driver of MQTT over ${title}`, () => {
    const opened: DriverConnection[] = []
    afterEach(async () => {
      for (const connection of opened.splice(0)) await connection.end()
    })

    async function connect(
      { driver, url }: ServerForCases,
      clientId: string,
      will?: { readonly pattern: string; readonly data: unknown }
    ): Promise<[DriverConnection, Recorded]> {
      const seen = new Recorded()
      const options = mqttOptions({ url, will })
      const connection = await driver.connect(options.servers[0] as MqttServer, options, clientId, seen)
      opened.push(connection)
      return [connection, seen]
    }

    const told = (connection: DriverConnection, packet: Packet) =>
      new Promise<boolean>((resolve, reject) =>
        connection.publish(packet, (isHeard, refusal) => (refusal ? reject(refusal) : resolve(isHeard)))
      )

    it('tells whether somebody has subscribed, and delivers in order', async () => {
      const server = await open()
      const [one, seen] = await connect(server, 'one')
      const [other] = await connect(server, 'other')
      assert.equal(await told(other, { topic: 'in/order', payload: '0', qos: 1 }), false)
      await one.subscribe('in/+', undefined)
      for (const payload of ['1', '2', '3'])
        other.publish({ topic: 'in/order', payload, qos: payload === '2' ? 1 : 0 })
      assert.equal(await told(other, { topic: 'in/order', payload: '4', qos: 1 }), true)
      await seen.until(({ arrived }) => arrived.length === 4)
      assert.deepEqual(
        seen.arrived.map(({ text }) => text),
        ['1', '2', '3', '4']
      )
    })

    it('names the subscription of a message, and sends nothing after its end', async () => {
      const server = await open()
      const [one, seen] = await connect(server, 'one')
      await one.subscribe('ids/a', 7)
      await one.subscribe('ids/b', 8)
      one.publish({ topic: 'ids/a', payload: 'a', qos: 0 })
      one.publish({ topic: 'ids/b', payload: 'b', qos: 0 })
      await seen.until(({ arrived }) => arrived.length === 2)
      assert.deepEqual(
        seen.arrived.map(({ id }) => [id].flat()),
        [[7], [8]]
      )
      await one.unsubscribe(['ids/a'])
      one.publish({ topic: 'ids/a', payload: 'a', qos: 0 })
      one.publish({ topic: 'ids/b', payload: 'c', qos: 0 })
      await seen.until(({ arrived }) => arrived.length === 3)
      assert.equal(seen.arrived[2]?.text, 'c')
    })

    it('gives a message of a shared subscription to one member', async () => {
      const server = await open()
      const members = [await connect(server, 'one'), await connect(server, 'other')]
      for (const [connection] of members) await connection.subscribe('$share/group/shared', undefined)
      const [publisher] = await connect(server, 'publisher')
      for (let n = 0; n < 20; n++) publisher.publish({ topic: 'shared', payload: String(n), qos: 0 })
      await publisher.ping()
      for (const [connection] of members) await connection.ping()
      const all = members.flatMap(([, { arrived }]) => arrived.map(({ text }) => Number(text)))
      assert.deepEqual(
        all.sort((a, b) => a - b),
        Array.from({ length: 20 }, (_, n) => n)
      )
      for (const [, { arrived }] of members) assert.ok(arrived.length > 0)
    })

    it('keeps the last retained message of a topic, until an empty one', async () => {
      const server = await open()
      const [publisher] = await connect(server, 'publisher')
      for (const payload of ['old', 'new'])
        await told(publisher, { topic: 'kept', payload, qos: 1, retain: true })
      const [one, seen] = await connect(server, 'one')
      await one.subscribe('kept', undefined)
      await seen.until(({ arrived }) => arrived.length === 1)
      assert.deepEqual(seen.arrived[0], { topic: 'kept', text: 'new', retain: true, id: undefined })
      await told(publisher, { topic: 'kept', payload: '', qos: 1, retain: true })
      const [other, late] = await connect(server, 'other')
      await other.subscribe('kept', undefined)
      await other.ping()
      assert.deepEqual(late.arrived, [])
    })

    it('ends the older of two connections with one id, and publishes its will', async () => {
      const server = await open()
      const [watcher, seen] = await connect(server, 'watcher')
      await watcher.subscribe('gone', undefined)
      const [, older] = await connect(server, 'same', { pattern: 'gone', data: 1 })
      const [newer] = await connect(server, 'same')
      await older.until(({ isLost }) => isLost)
      await seen.until(({ arrived }) => arrived.length === 1)
      assert.deepEqual(JSON.parse(seen.arrived[0]?.text ?? ''), { pattern: 'gone', data: 1 })
      await newer.ping()
    })

    it('publishes no will of a connection that is ended', async () => {
      const server = await open()
      const [watcher, seen] = await connect(server, 'watcher')
      await watcher.subscribe('gone', undefined)
      const [one, own] = await connect(server, 'one', { pattern: 'gone', data: 1 })
      await one.end()
      await watcher.ping()
      assert.deepEqual(seen.arrived, [])
      assert.equal(own.isLost, false)
    })

    it('ends a connection whose server ends meanwhile', async () => {
      const server = await open()
      const [one, own] = await connect(server, 'one')
      const ended = one.end()
      await server.restart()
      await ended
      assert.equal(own.isLost, false)
    })

    it('tells that the server is lost, and forgets the subscriptions', async () => {
      const server = await open()
      const [one, seen] = await connect(server, 'one')
      await one.subscribe('after', undefined)
      await server.restart()
      await seen.until(({ isLost }) => isLost)
      assert.equal(one.isOpen, false)
      await assert.rejects(one.ping())
      const [again, later] = await connect(server, 'one')
      assert.equal(await told(again, { topic: 'after', payload: '', qos: 1 }), false)
      assert.deepEqual(later.arrived, [])
    })
  })
}
