/**
 * Requests of Kafka's protocol whose answers the driver (1.35.0) reads wrongly, with functions that read the answers
 * correctly.
 */
import {
  consumerGroupDescribeV0,
  createAPI,
  createTopicsV7,
  type Reader,
  ResponseError
} from '@platformatic/kafka'
import type { MadeTopic } from '../driver.ts'
import { Code } from './errors.ts'

/**
 * Creates topics (CreateTopics, version 7). A user without the right to see a topic's settings gets an answer with an
 * additional field for each topic, which the driver does not expect.
 */
export const createTopicsApi = createAPI<Parameters<typeof createTopicsV7.createRequest>, MadeTopic[]>(
  createTopicsV7.api.key,
  createTopicsV7.api.version,
  createTopicsV7.createRequest,
  (_correlation, _api, _version, reader) => {
    // The throttle time is not used.
    reader.readInt32()
    return reader.readArray(readMadeTopic, true, false)
  }
)

function readMadeTopic(topic: Reader): MadeTopic {
  const name = topic.readString()
  topic.readUUID()
  const errorCode = topic.readInt16()
  const errorMessage = topic.readNullableString()
  // The counts of partitions and replicas, and the settings, are not used.
  topic.readInt32()
  topic.readInt16()
  topic.readArray((setting) => {
    setting.readString()
    setting.readNullableString()
    setting.readBoolean()
    setting.readInt8()
    setting.readBoolean()
  })
  for (let fields = topic.readUnsignedVarInt(); fields > 0; fields--) {
    topic.readUnsignedVarInt()
    topic.skip(topic.readUnsignedVarInt())
  }
  return { name, errorCode, errorMessage: errorMessage ?? null }
}

/**
 * The ids of a group's members (ConsumerGroupDescribe, version 0); none if there is no such group. The driver reads the
 * list of a member's topics as one text.
 */
export const describeGroupApi = createAPI<[groups: string[], includeAuthorizedOperations: boolean], string[]>(
  consumerGroupDescribeV0.api.key,
  consumerGroupDescribeV0.api.version,
  consumerGroupDescribeV0.createRequest,
  (_correlation, api, version, reader) => {
    const { members, errorCode } = readMembers(reader)
    if (errorCode === 0 || errorCode === Code.groupNotFound) return members
    throw new ResponseError(api, version, { '': [errorCode, null] }, members)
  }
)

function readMembers(reader: Reader): { readonly members: string[]; readonly errorCode: number } {
  const members: string[] = []
  let errorCode = 0
  // The throttle time is not used.
  reader.readInt32()
  reader.readArray((group) => {
    errorCode = group.readInt16()
    // Not used: error message, group id, state, group epoch, assignment epoch, assignor.
    group.readNullableString()
    group.readString()
    group.readString()
    group.readInt32()
    group.readInt32()
    group.readString()
    group.readArray((member) => {
      members.push(member.readString())
      // Not used: instance, rack, epoch, client id, client host, subscribed topics, their pattern.
      member.readNullableString()
      member.readNullableString()
      member.readInt32()
      member.readString()
      member.readString()
      member.readArray((topic) => topic.readString(), true, false)
      member.readNullableString()
      skipAssignment(member)
      skipAssignment(member)
    })
    // The allowed operations are not used.
    group.readInt32()
  })
  return { members, errorCode }
}

function skipAssignment(reader: Reader): void {
  reader.readArray((topic) => {
    topic.readUUID()
    topic.readString()
    topic.readArray((partition) => partition.readInt32(), true, false)
  })
  reader.readTaggedFields()
}
