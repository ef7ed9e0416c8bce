/** Headers as user properties of MQTT, and the records with which users of NestJS set them. */
import { type CarriedHeaders, type DataRecord, joinedHeaders } from '@elysia-microservices/engine'
import { type MessageHeaders, OptionError } from '@elysia-microservices/transport/kit'
import type { IPublishPacket } from 'mqtt'

/**
 * The header with which the server keeps an event for later subscribers (`'true'`); a message that was kept has this
 * header, too.
 */
const RETAIN = 'mqtt-retain'
/** The header with the quality of service of an event: `'0'`, `'1'` or `'2'`. */
const QOS = 'mqtt-qos'
/** The header with the whole seconds after which an event expires. */
const EXPIRY = 'mqtt-expiry'

type Properties = NonNullable<IPublishPacket['properties']>

/** The properties with which an event is published. */
export interface Written {
  readonly userProperties: Properties['userProperties']
  readonly retain: boolean
  readonly qos: 0 | 1 | 2
  /** Whole seconds; `undefined`: the event does not expire. */
  readonly expiry: number | undefined
}

/** Converts headers for MQTT; several values of one name are joined with commas. */
export function writeHeaders(given: CarriedHeaders | undefined): Written {
  if (given === undefined) return { userProperties: undefined, retain: false, qos: 1, expiry: undefined }
  const { [RETAIN]: retain, [QOS]: qos, [EXPIRY]: expiry, ...rest } = given
  const names = Object.keys(rest)
  return {
    userProperties: names.length === 0 ? undefined : joinedHeaders(rest),
    retain: retain === 'true',
    qos: qos === undefined ? 1 : (Number(qos) as 0 | 1 | 2),
    expiry: expiry === undefined ? undefined : Number(expiry)
  }
}

/** The headers of a message; `undefined`: the message has none. */
export function readHeaders({
  properties,
  retain,
  qos = 0
}: Pick<IPublishPacket, 'retain'> & {
  readonly properties?: Properties | undefined
  readonly qos?: number | undefined
}): MessageHeaders | undefined {
  const given = properties?.userProperties
  if (given === undefined && !retain && qos === 0) return undefined
  const texts = Object.entries(given ?? {}).map(([name, value]) => [name, [value].flat().join(', ')])
  if (retain) texts.push([RETAIN, 'true'])
  if (qos > 0) texts.push([QOS, String(qos)])
  return Object.fromEntries(texts)
}

/** Why MQTT cannot carry a header; `undefined`: MQTT can. */
export function whyNoHeader(name: string, value: unknown): string | undefined {
  if (name === RETAIN && value !== 'true' && value !== 'false') return "must be 'true' or 'false'"
  if (name === QOS && !['0', '1', '2'].includes(String(value))) return "must be '0', '1' or '2'"
  if (name === EXPIRY && !(/^\d{1,10}$/.test(String(value)) && Number(value) < 2 ** 32))
    return 'must be a whole number of seconds'
  for (const text of [name, [value].flat().join(', ')]) {
    if (/[\0\p{Cs}]/u.test(text)) return 'has a character that MQTT cannot carry'
    if (Buffer.byteLength(text) > 65_535) return 'has more than 65535 bytes'
  }
  return undefined
}

/** The record that NestJS's `MqttRecordBuilder` builds. */
interface MqttRecord {
  readonly data: unknown
  readonly options?: {
    readonly qos?: 0 | 1 | 2
    readonly retain?: boolean
    readonly dup?: boolean
    readonly properties?: Readonly<Record<string, unknown>> & {
      readonly userProperties?: Readonly<Record<string, string | string[]>>
      readonly messageExpiryInterval?: number
    }
  }
}

/**
 * The data, user properties and flags of a NestJS record, which is recognised by the name of its class; `undefined`:
 * the value is not such a record.
 * @throws {OptionError} the record has a property that this library itself uses
 */
export function recordOf(value: unknown): DataRecord | undefined {
  if (typeof value !== 'object' || value === null || value.constructor?.name !== 'MqttRecord')
    return undefined
  const { data, options: { qos, retain, properties } = {} } = value as MqttRecord
  const { userProperties, messageExpiryInterval, ...others } = properties ?? {}
  const other = Object.keys(others)[0]
  if (other !== undefined)
    throw new OptionError(
      `options.properties.${other}`,
      `options.properties.${other} of an MqttRecord cannot be sent: only userProperties and messageExpiryInterval are the caller's; leave it out`
    )
  const headers = {
    ...userProperties,
    ...(qos !== undefined && { [QOS]: String(qos) }),
    ...(retain !== undefined && { [RETAIN]: String(retain) }),
    ...(messageExpiryInterval !== undefined && { [EXPIRY]: String(messageExpiryInterval) })
  }
  return { data, headers: Object.keys(headers).length === 0 ? undefined : headers }
}
