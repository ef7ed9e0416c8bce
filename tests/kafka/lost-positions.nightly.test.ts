/** Groups whose positions Kafka has lost, or whose positions no longer fit the topic: no event is skipped in silence. */
import assert from 'node:assert/strict'
import { afterEach, before, describe, it } from 'node:test'
import { kafka } from '@elysia-microservices/kafka'
import { collected, isMissing, Log, PATIENCE, until, within } from '@elysia-microservices/test-support'
import { type DurableOptions, deadLetters } from '@elysia-microservices/transport'
import { Admin } from '@platformatic/kafka'
import { type Message, microservice } from 'elysia-microservices'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { type KafkaServerProcess, kafkaMissing, sharedKafka } from '../support/kafka-server.ts'

if (!isMissing('groups whose positions are lost', kafkaMissing()))
  describe('a group whose positions Kafka has lost', () => {
    let server: KafkaServerProcess
    let client: UntypedClient
    let admin: Admin
    let count = 0
    const cleanUps: (() => Promise<unknown>)[] = []
    const log = new Log()
    const transport = () => kafka({ url: [server.broker], partitions: 1 })
    const fresh = () => ({ pattern: `lost${++count}.happened`, group: `away${count}` })

    before(async () => {
      server = await sharedKafka()
    })
    afterEach(async () => {
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
      log.clear()
    })

    async function begin() {
      client = connect({ transport: transport(), logger: log.logger, timeout: PATIENCE })
      admin = new Admin({ clientId: 'operator', bootstrapBrokers: [server.broker] })
      cleanUps.push(
        () => client.close(),
        () => admin.close()
      )
      return fresh()
    }

    /** Handles events until it is told to stop. */
    async function serve(
      pattern: string,
      group: string,
      handler: (message: Message) => unknown,
      durable: DurableOptions | false = {}
    ) {
      const service = microservice({ name: group, transport: transport(), logger: log.logger }).event(
        pattern,
        handler,
        { durable: durable || undefined }
      )
      await service.listen()
      let isStopped = false
      const stop = async () => {
        if (!isStopped) await service.stop()
        isStopped = true
      }
      cleanUps.push(stop)
      return { stop, figures: () => service.stats()[0]?.durable?.[0] }
    }

    /** Does with the positions of a group what Kafka does if the group is away for longer than `offsets.retention.minutes`. */
    const forget = (group: string, pattern: string) => admin.deleteGroups({ groups: [`${group}.${pattern}`] })

    it('goes on where it stood, and says so: it skips no event, and runs none again', {
      timeout: PATIENCE
    }, async () => {
      const { pattern, group } = await begin()
      const seen: string[] = []
      const handler = ({ data, delivery }: Message) => {
        seen.push(`${data} ${delivery?.attempt}`)
        if (data === 'fails once' && delivery?.attempt === 1) throw new Error('no')
      }
      const retry = { attempts: 2, minDelay: 1 }
      const first = await serve(pattern, group, handler, { retry })
      for (const data of ['done', 'fails once']) await client.publish(pattern, data, { key: 'k' })
      await until('Both are done', () => seen.includes('fails once 2') && first.figures()?.lag === 0)
      await first.stop()
      await client.publish(pattern, 'while away', { key: 'k' })
      await forget(group, pattern)
      const second = await serve(pattern, group, handler, { retry })
      await client.publish(pattern, 'later', { key: 'k' })
      await until('It goes on', () => seen.includes('later 1') && second.figures()?.lag === 0)
      assert.deepEqual(seen, ['done 1', 'fails once 1', 'fails once 2', 'while away 1', 'later 1'])
      await within(log.has(`Kafka has lost the positions of the group '${group}'`), 'a line in the log')
    })

    it('is not taken for a new group, whatever `start` says; a new group is', {
      timeout: PATIENCE
    }, async () => {
      const { pattern, group } = await begin()
      const seen: unknown[] = []
      const first = await serve(pattern, group, ({ data }) => void seen.push(data), { start: 'all' })
      // It has done no event when it stops.
      await first.stop()
      await client.publish(pattern, 'while away')
      await forget(group, pattern)
      await serve(pattern, group, ({ data }) => void seen.push(data), { start: 'new' })
      const others: unknown[] = []
      await serve(pattern, `new-${group}`, ({ data }) => void others.push(data), { start: 'new' })
      await client.publish(pattern, 'later')
      await until('Both go on', () => seen.includes('later') && others.includes('later'))
      assert.deepEqual([seen, others], [['while away', 'later'], ['later']])
      assert.equal(log.lines.filter((line) => line.includes('has lost the positions')).length, 1)
    })

    it('because its topic was created again while it was away goes on at the first event, and says so', {
      timeout: PATIENCE
    }, async () => {
      for (const isForgotten of [false, true]) {
        const { pattern, group } = await begin()
        const seen: unknown[] = []
        const first = await serve(pattern, group, ({ data }) => void seen.push(data))
        await client.publish(pattern, 'old')
        await until('It is done', () => seen.length === 1 && first.figures()?.lag === 0)
        await first.stop()
        if (isForgotten) await forget(group, pattern)
        await admin.deleteTopics({ topics: [pattern] })
        await until('It is gone', async () => !(await admin.listTopics()).includes(pattern))
        await client.publish(pattern, 'new')
        await serve(pattern, group, ({ data }) => void seen.push(data))
        await until('It goes on', () => seen.includes('new'))
        await within(log.has(`The topic '${pattern}' was deleted and created again`), 'a line in the log')
      }
    })

    it('and the end of its partition, too, says that, and handles what is left', {
      timeout: PATIENCE
    }, async () => {
      const { pattern, group } = await begin()
      const seen: unknown[] = []
      const first = await serve(pattern, group, ({ data }) => void seen.push(data))
      await client.publish(pattern, 'left')
      await until('It is done', () => seen.length === 1 && first.figures()?.lag === 0)
      await first.stop()
      // Stands for a partition whose end is lost: the position is behind the end.
      const partitionOffsets = [{ partition: 0, offset: 1_000n }]
      await admin.alterConsumerGroupOffsets({
        groupId: `${group}.${pattern}`,
        topics: [{ name: pattern, partitionOffsets }]
      })
      await serve(pattern, group, ({ data }) => void seen.push(data))
      await within(log.has(`Kafka has lost the end of '${pattern}'`), 'a line in the log')
      await until('It is handled again', () => seen.length === 2)
      await client.publish(pattern, 'new')
      await until('It goes on', () => seen.includes('new'))
      assert.deepEqual(await collected(deadLetters(client, group).list()), [])
    })

    it('keeps its position when Kafka has deleted the events behind it: it says so, and handles the others', {
      timeout: PATIENCE
    }, async () => {
      for (const durable of [{}, false] as const) {
        const { pattern, group } = await begin()
        const seen: unknown[] = []
        const first = await serve(pattern, group, ({ data }) => void seen.push(data), durable)
        await client.publish(pattern, 'done')
        await until('It is done', () => seen.length === 1)
        await first.stop()
        await client.publish(pattern, 'deleted')
        await client.publish(pattern, 'kept')
        await admin.deleteRecords({ topics: [{ name: pattern, partitions: [{ partition: 0, offset: 2n }] }] })
        await serve(pattern, group, ({ data }) => void seen.push(data), durable)
        const line = durable === false ? 'Kafka does not have the messages' : 'deleted by Kafka'
        await within(log.has(line), 'a line in the log')
        await until('It goes on', () => seen.length === 2)
        assert.deepEqual(seen, ['done', 'kept'])
      }
    })

    it('or of another name, or without a handler, is in the log at the start, with the events that wait for it', {
      timeout: PATIENCE
    }, async () => {
      const { pattern, group } = await begin()
      const other = `${pattern}.other`
      const options = { name: group, transport: transport(), logger: log.logger }
      const both = microservice(options)
        .event(pattern, () => {}, { durable: {} })
        .event(other, () => {}, { durable: {} })
      await both.listen()
      // A group with a process is in no line.
      const beside = await serve(pattern, `beside-${group}`, () => {})
      await beside.stop()
      assert.deepEqual(
        log.lines.filter((line) => line.includes('wait for the group')),
        []
      )
      await both.stop()
      for (const topic of [pattern, pattern, other]) await client.publish(topic, 1)
      await serve(pattern, `renamed-${group}`, () => {})
      await log.has(`Up to 2 events '${pattern}' wait for the group '${group}', which no process handles`)
      await serve(pattern, group, () => {})
      await log.has(`Up to 1 events '${other}' wait for the group '${group}', and neither this service`)
    })
  })
