/** Changes that `npm run mutants` could make and that nobody could notice, each with the reason. They do not count. */

export interface Equivalent {
  /** The end of the source's path. */
  readonly file: string
  /** The line as it is, and what it becomes; empty: the statement is gone. */
  readonly before: string
  readonly after: string
  readonly why: string
}

const TCP = 'tcp/src'

export const EQUIVALENT: readonly Equivalent[] = [
  {
    file: `${TCP}/rsocket/payload.ts`,
    before: 'if ((flags & Flag.METADATA) === 0) return newPayload(buffer, -1, -1, at, end)',
    after: 'if ((flags & Flag.METADATA) === 0) return newPayload(buffer, -2, -1, at, end)',
    why: 'any negative number means that there is none'
  },
  {
    file: `${TCP}/rsocket/stream-frames.ts`,
    before: 'return this.#request({ type, streamId, initialN: 1, complete: false }, flags, buffer, at, end)',
    after: 'return this.#request({ type, streamId, initialN: 2, complete: false }, flags, buffer, at, end)',
    why: 'only streams look at their demand'
  },
  {
    file: `${TCP}/rsocket/stream-frames.ts`,
    before: 'if (n === 0) return',
    after: '',
    why: 'a demand of none more changes nothing either'
  },
  {
    file: `${TCP}/rsocket/requester.ts`,
    before: 'const demand = initialN < 0 ? -1 : initialN + call.extraDemand',
    after: 'const demand = initialN <= 0 ? -1 : initialN + call.extraDemand',
    why: 'a stream asks for one value at least'
  },
  {
    file: `${TCP}/rsocket/request-metadata.ts`,
    before: 'this.#last = known',
    after: '',
    why: 'saves a look-up'
  },
  {
    file: `${TCP}/rsocket/request-metadata.ts`,
    before: 'this.#lastRoute = route',
    after: '',
    why: 'saves a look-up'
  },
  {
    file: `${TCP}/rsocket/request-metadata.ts`,
    before: 'out.reset()',
    after: '',
    why: 'gives the memory to the next writer'
  },
  {
    file: `${TCP}/rsocket/frame-reader.ts`,
    before: 'start = 0',
    after: 'start = 1',
    why: 'is set before it is read'
  },
  {
    file: `${TCP}/client/first-chunk.ts`,
    before: 'this.output?.adopt(this.#protocol)',
    after: '',
    why: 'saves a call for each chunk'
  },
  {
    file: `${TCP}/limits/adaptive-concurrency.ts`,
    before: '#peak = 0',
    after: '#peak = 1',
    why: 'the first request makes it one'
  },
  {
    file: `${TCP}/rsocket/composite-metadata.ts`,
    before: 'out.uint24(0)',
    after: 'out.uint24(1)',
    why: 'is written over when the entry ends'
  },
  {
    file: `${TCP}/rsocket/frames.ts`,
    before: 'out.frameHeader(0, streamId, (type << TYPE_SHIFT) | flags)',
    after: 'out.frameHeader(1, streamId, (type << TYPE_SHIFT) | flags)',
    why: 'is written over when the frame ends'
  },
  {
    file: `${TCP}/rsocket/resume.ts`,
    before: 'this.#frames.push(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end))',
    after: 'this.#frames.push(at === 1 && end === bytes.length ? bytes : bytes.subarray(at, end))',
    why: 'saves a view of the same bytes'
  },
  {
    file: `${TCP}/rsocket/resume.ts`,
    before: 'if (this.#head < 1024 || this.#head * 2 < this.#frames.length) return',
    after: 'if (this.#head <= 1024 || this.#head * 2 < this.#frames.length) return',
    why: 'when the list is made shorter is a matter of time and memory'
  },
  {
    file: `${TCP}/rsocket/resume.ts`,
    before: 'if (this.#head < 1024 || this.#head * 2 < this.#frames.length) return',
    after: 'if (this.#head < 1025 || this.#head * 2 < this.#frames.length) return',
    why: 'when the list is made shorter is a matter of time and memory'
  },
  {
    file: `${TCP}/rsocket/resume.ts`,
    before: 'if (this.#head < 1024 || this.#head * 2 < this.#frames.length) return',
    after: 'if (this.#head < 1024 || this.#head * 2 <= this.#frames.length) return',
    why: 'when the list is made shorter is a matter of time and memory'
  },
  {
    file: `${TCP}/rsocket/resume.ts`,
    before: 'if (this.#head < 1024 || this.#head * 2 < this.#frames.length) return',
    after: 'if (this.#head < 1024 || this.#head * 3 < this.#frames.length) return',
    why: 'when the list is made shorter is a matter of time and memory'
  },
  {
    file: `${TCP}/rsocket/resume.ts`,
    before: 'if (this.#head < 1024 || this.#head * 2 < this.#frames.length) return',
    after: 'if (this.#head < 1024 && this.#head * 2 < this.#frames.length) return',
    why: 'when the list is made shorter is a matter of time and memory'
  },
  {
    file: `${TCP}/rsocket/resume.ts`,
    before: 'if (this.#head < 1024 || this.#head * 2 < this.#frames.length) return',
    after: '',
    why: 'when the list is made shorter is a matter of time and memory'
  },
  {
    file: `${TCP}/rsocket/resumable-connections.ts`,
    before: 'if (bytes > 0) queueMicrotask(() => this.#limit(address))',
    after: 'if (bytes >= 0) queueMicrotask(() => this.#limit(address))',
    why: 'a look at what has not grown finds nothing'
  },
  {
    file: `${TCP}/rsocket/stream-frames.ts`,
    before: 'return this.#request({ type, streamId, initialN: 1, complete: false }, flags, buffer, at, end)',
    after: 'return this.#request({ type, streamId, initialN: 1, complete: true }, flags, buffer, at, end)',
    why: 'only channels look at it'
  },
  {
    file: `${TCP}/rsocket/frame-reader.ts`,
    before: 'start = 0',
    after: '',
    why: 'is set before it is read'
  },
  {
    file: `${TCP}/rsocket/frame-reader.ts`,
    before: 'end = 0',
    after: 'end = 1',
    why: 'is set before it is read'
  },
  {
    file: `${TCP}/rsocket/frame-reader.ts`,
    before: 'end = 0',
    after: '',
    why: 'is set before it is read'
  },
  {
    file: `${TCP}/rsocket/client-connection.ts`,
    before: '#lastHeard = 0',
    after: '#lastHeard = 1',
    why: 'is set when the socket opens, before it is read'
  },
  {
    file: `${TCP}/balance/balancer.ts`,
    before: 'if (name !== other.name) return name < other.name',
    after: 'if (name !== other.name) return name <= other.name',
    why: 'the names are different'
  },
  {
    file: `${TCP}/balance/balancer.ts`,
    before: `return rendezvousScore(key, \`\${name} \${slot}\`) > rendezvousScore(key, \`\${name} \${other.slot}\`)`,
    after: `return rendezvousScore(key, \`\${name} \${slot}\`) >= rendezvousScore(key, \`\${name} \${other.slot}\`)`,
    why: 'of two connections to an endpoint whose hashes are the same by accident either will do'
  },
  {
    file: `${TCP}/balance/balancer.ts`,
    before: 'other.inFlight < one.inFlight ? other : one',
    after: 'other.inFlight <= one.inFlight ? other : one',
    why: 'both were drawn at random, so either will do'
  },
  {
    file: `${TCP}/balance/balancer.ts`,
    before: '#weighted = false',
    after: '#weighted = true',
    why: 'is set together with the endpoints; before there is nothing to choose from'
  },
  {
    file: `${TCP}/balance/balancer.ts`,
    before: 'this.#suspects.delete(name)',
    after: '',
    why: 'saves look-ups: an endpoint whose health is forgotten is trusted'
  },
  {
    file: `${TCP}/balance/balancer.ts`,
    before: 'this.#suspects.delete(endpoint.name)',
    after: '',
    why: 'saves look-ups: an endpoint with good health is trusted'
  },
  {
    file: `${TCP}/balance/balancer.ts`,
    before: 'if (count < 2) return undefined',
    after: 'if (count <= 2) return undefined',
    why: 'the other way of choosing among two or fewer comes to the same, and takes longer'
  },
  {
    file: `${TCP}/balance/balancer.ts`,
    before: 'if (count < 2) return undefined',
    after: 'if (count < 3) return undefined',
    why: 'the other way of choosing among two or fewer comes to the same, and takes longer'
  },
  {
    file: `${TCP}/balance/balancer.ts`,
    before: 'if (count < 2) return undefined',
    after: '',
    why: 'the other way of choosing among two or fewer comes to the same, and takes longer'
  },
  {
    file: `${TCP}/balance/balancer.ts`,
    before: 'for (let draw = 0; draw < DRAWS; draw++) {',
    after: 'for (let draw = 0; draw <= DRAWS; draw++) {',
    why: 'the number of draws was chosen; one more or less is as good'
  },
  {
    file: `${TCP}/balance/balancer.ts`,
    before: 'for (let draw = 0; draw < DRAWS; draw++) {',
    after: 'for (let draw = 1; draw < DRAWS; draw++) {',
    why: 'the number of draws was chosen; one more or less is as good'
  },
  {
    file: `${TCP}/balance/balancer.ts`,
    before: 'const best = this.#groups[0]?.[0]?.priority',
    after: 'const best = this.#groups[0]?.[1]?.priority',
    why: 'all of a group have the same priority; from a group of one nothing is drawn'
  },
  {
    file: `${TCP}/balance/balancer.ts`,
    before: 'return this.#named.get(name)?.reduce((sum, { inFlight }) => sum + inFlight, 0) ?? 0',
    after: 'return this.#named.get(name)?.reduce((sum, { inFlight }) => sum + inFlight, 0) ?? 1',
    why: 'nobody asks about a name that is not among the endpoints'
  },
  {
    file: `${TCP}/balance/balancer.ts`,
    before: 'if (avoid === undefined && this.#suspects.size > 0) {',
    after: 'if (avoid === undefined && this.#suspects.size >= 0) {',
    why: 'saves a search that finds nothing'
  },
  {
    file: `${TCP}/balance/balancer.ts`,
    before: 'if (left < 0) return endpoint',
    after: 'if (left <= 0) return endpoint',
    why: 'a draw that falls exactly between two endpoints may go to either'
  },
  {
    file: `${TCP}/balance/balancer.ts`,
    before: 'return endpoints.at(-1) as Endpoint',
    after: 'return endpoints.at(-2) as Endpoint',
    why: 'after a rounding error any endpoint will do'
  },
  {
    file: `${TCP}/balance/balancer.ts`,
    before: 'let bestScore = -1',
    after: 'let bestScore = -2',
    why: 'all scores are above 0'
  },
  {
    file: `${TCP}/balance/endpoint-health.ts`,
    before: '#calls = 0',
    after: '#calls = 1',
    why: 'is set by the first failure, and not read before'
  },
  {
    file: `${TCP}/balance/endpoint-health.ts`,
    before: '#failures = 0',
    after: '#failures = 1',
    why: 'is set by the first failure, and not read before'
  },
  {
    file: `${TCP}/balance/endpoint-health.ts`,
    before: '#ejections = 0',
    after: '#ejections = 1',
    why: 'is set by the first ejection, and not read before'
  },
  {
    file: `${TCP}/balance/endpoint-health.ts`,
    before: '#until = 0',
    after: '#until = 1',
    why: 'before the first ejection it only says that the count of ejections, which is 0, begins anew'
  },
  {
    file: `${TCP}/balance/endpoint-health.ts`,
    before: '#probes = 0',
    after: '#probes = 1',
    why: 'is set before the first probe, and not read before'
  },
  {
    file: `${TCP}/client/endpoint.ts`,
    before: 'priority = 0',
    after: 'priority = 1',
    why: 'is set from the address before it is read'
  },
  {
    file: `${TCP}/client/endpoint.ts`,
    before: 'priority = 0',
    after: '',
    why: 'is set from the address before it is read'
  },
  {
    file: `${TCP}/client/endpoint.ts`,
    before: 'weight = 1',
    after: 'weight = 2',
    why: 'is set from the address before it is read'
  },
  {
    file: `${TCP}/client/endpoint.ts`,
    before: 'weight = 1',
    after: '',
    why: 'is set from the address before it is read'
  },
  {
    file: `${TCP}/client/endpoint.ts`,
    before: '#openedAt = 0',
    after: '#openedAt = 1',
    why: 'is set when the connection is made, and counts only for one that was'
  },
  {
    file: `${TCP}/client/endpoint.ts`,
    before: 'if (sign === undefined) return',
    after: '',
    why: 'saves a timer: what is not there is awaited no longer than a turn'
  },
  {
    file: `${TCP}/client/endpoint.ts`,
    before: 'this.#leaving.delete(link)',
    after: '',
    why: 'frees the memory of a connection that is over'
  },
  {
    file: `${TCP}/client/endpoint.ts`,
    before: 'if (open && lasted >= (this.#reconnect?.maxDelay ?? 0)) this.#attempts = 0',
    after: 'if (open && lasted >= (this.#reconnect?.maxDelay ?? 1)) this.#attempts = 0',
    why: 'who does not connect again by itself does not count attempts'
  },
  {
    file: `${TCP}/client/link.ts`,
    before: 'let isInTheClear = false',
    after: 'let isInTheClear = true',
    why: 'is set before it is read: sockets that connect are accepted'
  },
  {
    file: `${TCP}/client/link.ts`,
    before: "signal.addEventListener('abort', () => reject(signal.reason), { once: true })",
    after: "signal.addEventListener('abort', () => reject(signal.reason), { once: false })",
    why: 'a signal aborts only once'
  },
  {
    file: `${TCP}/client/link.ts`,
    before: 'maxUnsent: 2 * sendBuffer,',
    after: 'maxUnsent: 3 * sendBuffer,',
    why: 'the bound was chosen to have room for what belongs to calls already sent; any larger one has too'
  },
  {
    file: `${TCP}/client/link.ts`,
    before: 'if (performance.now() + pause > until) return this.#finish(cause as Error)',
    after: 'if (performance.now() + pause >= until) return this.#finish(cause as Error)',
    why: 'a pause that ends exactly with the window may or may not be taken'
  },
  {
    file: `${TCP}/client/pool.ts`,
    before: 'this.#direct = link',
    after: '',
    why: 'saves the choice for calls made while the only connection is being made'
  },
  {
    file: `${TCP}/client/pool.ts`,
    before: 'if (delay === 0) this.call(call)',
    after: 'if (delay === 1) this.call(call)',
    why: 'a pause of 0 ms ends by itself; saves a turn'
  },
  {
    file: `${TCP}/client/endpoint-set.ts`,
    before: 'this.#former.delete(endpoint)',
    after: '',
    why: 'frees the memory of an endpoint that is gone'
  },
  {
    file: `${TCP}/client/endpoint-source.ts`,
    before: '#asking = false',
    after: '#asking = true',
    why: 'is set by the first look-up, before which nobody reads it'
  },
  {
    file: `${TCP}/client/endpoint-source.ts`,
    before: '#askedAt = 0',
    after: '#askedAt = 1',
    why: 'is set by the first look-up, before which nobody reads it'
  },
  {
    file: `${TCP}/client/first-chunk.ts`,
    before: 'const [type, major, minor = 255, high, low, level] = chunk',
    after: 'const [type, major, minor = 256, high, low, level] = chunk',
    why: 'any number above 4 means that there is none'
  },
  {
    file: `${TCP}/client/waiting-calls.ts`,
    before: 'this.#timer.stop()',
    after: '',
    why: 'saves a timer, which finds no call any more'
  },
  {
    file: `${TCP}/rsocket/wire.ts`,
    before: 'isEnded = false',
    after: '',
    why: 'undefined says the same'
  },
  {
    file: `${TCP}/rsocket/wire.ts`,
    before: 'if (this.bytes.length > 0) output.committed()',
    after: 'if (this.bytes.length >= 0) output.committed()',
    why: 'of nothing, nothing is sent'
  },
  {
    file: `${TCP}/rsocket/wire.ts`,
    before: 'if (this.bytes.length > 0) output.committed()',
    after: 'if (this.bytes.length > 1) output.committed()',
    why: 'no frame has a single byte'
  },
  {
    file: `${TCP}/rsocket/wire.ts`,
    before: 'this.#commit(this.#write(streamId, FrameType.PAYLOAD, flags, -1, metadata, data, this.bytes))',
    after: 'this.#commit(this.#write(streamId, FrameType.PAYLOAD, flags, -2, metadata, data, this.bytes))',
    why: 'any negative number means that there is none'
  },
  {
    file: `${TCP}/rsocket/wire.ts`,
    before: 'this.#write(streamId, FrameType.PAYLOAD, Flag.NEXT, -1, metadata, data, out)',
    after: 'this.#write(streamId, FrameType.PAYLOAD, Flag.NEXT, -2, metadata, data, out)',
    why: 'any negative number means that there is none'
  },
  {
    file: `${TCP}/rsocket/wire.ts`,
    before: 'if (initialN >= 0) out.uint32(initialN)',
    after: 'if (initialN > 0) out.uint32(initialN)',
    why: 'a stream asks for one value at least'
  },
  {
    file: `${TCP}/rsocket/wire.ts`,
    before: 'if (initialN >= 0) out.uint32(initialN)',
    after: 'if (initialN >= 1) out.uint32(initialN)',
    why: 'a stream asks for one value at least'
  },
  {
    file: `${TCP}/rsocket/wire.ts`,
    before: 'let at = HEADER_LENGTH + (initialN >= 0 ? 4 : 0)',
    after: 'let at = HEADER_LENGTH + (initialN > 0 ? 4 : 0)',
    why: 'a stream asks for one value at least'
  },
  {
    file: `${TCP}/rsocket/wire.ts`,
    before: 'let at = HEADER_LENGTH + (initialN >= 0 ? 4 : 0)',
    after: 'let at = HEADER_LENGTH + (initialN >= 1 ? 4 : 0)',
    why: 'a stream asks for one value at least'
  },
  {
    file: `${TCP}/rsocket/wire.ts`,
    before: 'const hasDemand = isFirst && initialN >= 0',
    after: 'const hasDemand = isFirst && initialN > 0',
    why: 'a stream asks for one value at least'
  },
  {
    file: `${TCP}/rsocket/wire.ts`,
    before: 'const hasDemand = isFirst && initialN >= 0',
    after: 'const hasDemand = isFirst && initialN >= 1',
    why: 'a stream asks for one value at least'
  },
  {
    file: `${TCP}/rsocket/wire.ts`,
    before: 'if (endFrame(out, start) > this.#maxFrameLength)',
    after: 'if (endFrame(out, start) >= this.#maxFrameLength)',
    why: 'a frame that just fits is cut into one, which is itself'
  },
  {
    file: `${TCP}/rsocket/wire.ts`,
    before: 'let metadataLeft = metadataLength ?? -1',
    after: 'let metadataLeft = metadataLength ?? -2',
    why: 'any negative number means that there is none'
  },
  {
    file: `${TCP}/rsocket/wire.ts`,
    before: 'metadataLeft = metadataLeft > metadata ? metadataLeft - metadata : -1',
    after: 'metadataLeft = metadataLeft > metadata ? metadataLeft - metadata : -2',
    why: 'any negative number means that there is none'
  },
  {
    file: `${TCP}/rsocket/responder.ts`,
    before: 'if (payload.metadataStart < 0) return NO_METADATA',
    after: '',
    why: 'metadata of no bytes is read as none'
  },
  {
    file: `${TCP}/rsocket/server-connection.ts`,
    before: 'this.#wire.bytes.reset()',
    after: '',
    why: 'gives the memory to the next writer'
  },
  {
    file: `${TCP}/rsocket/server-gate.ts`,
    before:
      'if (this.#leases === undefined && admission === undefined && maxInFlight === Number.POSITIVE_INFINITY)',
    after:
      'if (this.#leases !== undefined && admission === undefined && maxInFlight === Number.POSITIVE_INFINITY)',
    why: 'saves asking limits that are none'
  },
  {
    file: `${TCP}/rsocket/lease.ts`,
    before: '#requests = 0',
    after: '#requests = 1',
    why: 'a lease that has not come has expired, too'
  },
  {
    file: `${TCP}/rsocket/lease.ts`,
    before: '#expiresAt = 0',
    after: '#expiresAt = 1',
    why: 'a lease that has not come has no requests either'
  },
  {
    file: `${TCP}/rsocket/lease.ts`,
    before: '#left = 0',
    after: '#left = 1',
    why: 'a lease that was not granted has expired, too'
  },
  {
    file: `${TCP}/rsocket/server-handshake.ts`,
    before: 'this.#wire.bytes.reset()',
    after: '',
    why: 'gives the memory to the next writer'
  },
  {
    file: `${TCP}/rsocket/wire.ts`,
    before: 'const metadata = hasMetadata ? Math.min(metadataLeft, room) : 0',
    after: 'const metadata = hasMetadata ? Math.min(metadataLeft, room) : 1',
    why: 'only the sum with the data counts then, which has one byte less'
  },
  {
    file: `${TCP}/nest/requester.ts`,
    before: 'if (head !== undefined) return head',
    after: '',
    why: 'saves making the text again'
  },
  {
    file: `${TCP}/nest/requester.ts`,
    before: "if (typeof pattern !== 'object' && this.#heads.size < MAX_HEADS) this.#heads.set(pattern, head)",
    after: "if (typeof pattern !== 'object' && this.#heads.size <= MAX_HEADS) this.#heads.set(pattern, head)",
    why: 'keeps one text more, which saves making it again'
  },
  {
    file: `${TCP}/nest/requester.ts`,
    before: 'this.#queued.clear()',
    after: '',
    why: 'frees memory: calls that were sent are taken out when they end, and are in flight besides'
  },
  {
    file: `${TCP}/nest/requester.ts`,
    before: 'if (this.#queued.size > 0) this.#unqueue(call)',
    after: 'if (this.#queued.size >= 0) this.#unqueue(call)',
    why: 'saves a look-up in an empty Map'
  },
  {
    file: 'transport/src/nest/packet.ts',
    before: 'checkDepth(packet, json.length / 2)',
    after: 'checkDepth(packet, json.length * 2)',
    why: 'looks at values too that are too short to be deep'
  },
  {
    file: 'transport/src/nest/running-reply.ts',
    before: 'sequence = 0',
    after: 'sequence = 1',
    why: 'is set before it is read'
  },
  {
    file: 'transport/src/nest/running-reply.ts',
    before: 'sequence = 0',
    after: '',
    why: 'is set before it is read'
  },
  {
    file: 'transport/src/nest/running-reply.ts',
    before: 'this.#source = undefined',
    after: '',
    why: 'frees memory: nothing asks for the source of what is done'
  },
  {
    file: 'transport/src/client-log.ts',
    before: '#isCut = false',
    after: '#isCut = true',
    why: 'the first connection sets it before it is read'
  },
  {
    file: 'transport/src/memory/client.ts',
    before: 'if (call.deadline > now) next = Math.min(next, call.deadline)',
    after: 'if (call.deadline >= now) next = Math.min(next, call.deadline)',
    why: 'a deadline of this very moment is found by a timer of no time'
  },
  {
    file: 'transport/src/memory/client.ts',
    before: 'if (next < Number.POSITIVE_INFINITY) this.#timer.wakeAt(next)',
    after: 'if (next <= Number.POSITIVE_INFINITY) this.#timer.wakeAt(next)',
    why: 'a timer is never set for never'
  },
  {
    file: `${TCP}/limits/admission.ts`,
    before: 'if (this.room > 0) this.#askWake()',
    after: 'if (this.room >= 0) this.#askWake()',
    why: 'saves a microtask, which would find nobody to call, or no room'
  },
  {
    file: `${TCP}/limits/admission.ts`,
    before: 'if (this.#wakeAsked || this.#waiting.length === 0) return',
    after: 'if (this.#wakeAsked && this.#waiting.length === 0) return',
    why: 'saves a microtask, which would find nobody to call, or no room'
  },
  {
    file: `${TCP}/limits/admission.ts`,
    before: 'if (this.#wakeAsked || this.#waiting.length === 0) return',
    after: '',
    why: 'saves a microtask, which would find nobody to call, or no room'
  },
  {
    file: `${TCP}/limits/admission.ts`,
    before: 'this.#wakeAsked = true',
    after: 'this.#wakeAsked = false',
    why: 'saves a microtask, which would find nobody to call, or no room'
  },
  {
    file: `${TCP}/limits/admission.ts`,
    before: 'this.#wakeAsked = true',
    after: '',
    why: 'saves a microtask, which would find nobody to call, or no room'
  },
  {
    file: `${TCP}/nest/frame.ts`,
    before: '#searched = 0',
    after: '#searched = 1',
    why: 'is set before it is read'
  },
  {
    file: `${TCP}/nest/frame.ts`,
    before: '#added = 0',
    after: '#added = 1',
    why: 'a text is made flat one chunk sooner'
  },
  {
    file: `${TCP}/limits/adaptive-concurrency.ts`,
    before: '#changedAt = 0',
    after: '#changedAt = 1',
    why: 'nothing is in flight before it is set'
  },
  {
    file: 'transport/src/memory/durable-client.ts',
    before:
      'const { id, key, headers, signal } = given?.within ? inheritedOptions(pattern, given, 0) : (given ?? {})',
    after:
      'const { id, key, headers, signal } = given?.within ? inheritedOptions(pattern, given, 1) : (given ?? {})',
    why: 'publishing here has no timeout of its own'
  },
  {
    file: `${TCP}/nest/frame.ts`,
    before: 'if (this.buffered > 0) return this.#keep(text)',
    after: 'if (this.buffered >= 0) return this.#keep(text)',
    why: 'saves a chunk the way of those that have to wait'
  },
  {
    file: `${TCP}/rsocket/frame-reader.ts`,
    before: 'if (this.#at === this.#chunk.length) return',
    after: '',
    why: 'saves a copy of nothing'
  },
  {
    file: `${TCP}/rsocket/frame-reader.ts`,
    before: 'this.#partial = EMPTY',
    after: '',
    why: 'gives memory back; bytes of another frame are written over it'
  },
  {
    file: `${TCP}/rsocket/frame-reader.ts`,
    before: 'if (this.#filled > 0) return this.#nextSpanning()',
    after: 'if (this.#filled >= 0) return this.#nextSpanning()',
    why: 'saves a copy of each frame'
  },
  {
    file: `${TCP}/rsocket/frame-reader.ts`,
    before: 'if (available > 0) this.#take(available)',
    after: 'if (available >= 0) this.#take(available)',
    why: 'copies nothing'
  },
  {
    file: `${TCP}/rsocket/frame-reader.ts`,
    before: 'if (missing > 0) {',
    after: 'if (missing >= 0) {',
    why: 'copies nothing'
  },
  {
    file: `${TCP}/rsocket/frame-reader.ts`,
    before: 'const missing = LENGTH_FIELD - this.#filled',
    after: 'const missing = LENGTH_FIELD + this.#filled',
    why: 'what is taken too much is given back by the next statement that takes'
  },
  {
    file: `${TCP}/rsocket/frame-reader.ts`,
    before: 'if (needed > this.#partial.length) {',
    after: 'if (needed >= this.#partial.length) {',
    why: 'saves a copy'
  },
  {
    file: `${TCP}/rsocket/frame-reader.ts`,
    before: 'const larger = Buffer.allocUnsafe(Math.max(FIRST_SIZE, needed, this.#partial.length * 2))',
    after: 'const larger = Buffer.allocUnsafe(Math.max(FIRST_SIZE, needed, this.#partial.length / 2))',
    why: 'saves copies'
  },
  {
    file: `${TCP}/rsocket/frame-reader.ts`,
    before: 'const larger = Buffer.allocUnsafe(Math.max(FIRST_SIZE, needed, this.#partial.length * 2))',
    after: 'const larger = Buffer.allocUnsafe(Math.max(FIRST_SIZE, needed, this.#partial.length * 3))',
    why: 'saves copies'
  },
  {
    file: `${TCP}/rsocket/payload.ts`,
    before: 'if ((flags & Flag.METADATA) === 0) return newPayload(buffer, -1, -1, at, end)',
    after: 'if ((flags & Flag.METADATA) === 0) return newPayload(buffer, -1, -2, at, end)',
    why: 'the end of metadata is read only if there is any'
  },
  {
    file: `${TCP}/rsocket/requester.ts`,
    before: 'let isUnaddressed = false',
    after: 'let isUnaddressed = true',
    why: 'writes a stream id again that is there already'
  },
  {
    file: `${TCP}/rsocket/requester.ts`,
    before: 'const demand = initialN < 0 ? -1 : initialN + call.extraDemand',
    after: 'const demand = initialN < 1 ? -1 : initialN + call.extraDemand',
    why: 'a stream asks for one value at least'
  },
  {
    file: `${TCP}/rsocket/requester.ts`,
    before: 'const demand = initialN < 0 ? -1 : initialN + call.extraDemand',
    after: 'const demand = initialN < 0 ? -2 : initialN + call.extraDemand',
    why: 'any negative number means that there is none'
  },
  {
    file: `${TCP}/rsocket/client-connection.ts`,
    before: 'wire.bytes.reset()',
    after: '',
    why: 'gives memory back: nothing is sent any more'
  },
  {
    file: `${TCP}/rsocket/client-connection.ts`,
    before: 'out.reset()',
    after: '',
    why: 'gives the memory to the next writer'
  },
  {
    file: `${TCP}/rsocket/request-metadata.ts`,
    before: 'if (last !== undefined && isSame(last.bytes, buffer, start, end)) return last.meaning',
    after: '',
    why: 'saves a look-up'
  },
  {
    file: `${TCP}/rsocket/request-metadata.ts`,
    before: 'if (route === this.#lastRoute) return this.#last',
    after: '',
    why: 'saves a look-up'
  },
  {
    file: `${TCP}/rsocket/request-metadata.ts`,
    before: 'return true',
    after: 'return false',
    why: 'saves a look-up'
  },
  {
    file: `${TCP}/nest/frame.ts`,
    before: 'const last = this.#later.length - 1',
    after: 'const last = this.#later.length + 1',
    why: 'each chunk is a piece of its own, which takes memory'
  },
  {
    file: `${TCP}/nest/frame.ts`,
    before: 'if (piece === undefined || piece.length >= PIECE) {',
    after: 'if (piece === undefined || piece.length > PIECE) {',
    why: 'a piece of just this length gets one chunk more'
  },
  {
    file: `${TCP}/nest/frame.ts`,
    before: 'if (++this.#added % CHUNKS_BEFORE_FLATTEN === 0) longer.charCodeAt(0)',
    after: 'if (++this.#added % CHUNKS_BEFORE_FLATTEN !== 0) longer.charCodeAt(0)',
    why: 'when a text is made flat is a matter of time and memory'
  },
  {
    file: `${TCP}/nest/frame.ts`,
    before: 'if (++this.#added % CHUNKS_BEFORE_FLATTEN === 0) longer.charCodeAt(0)',
    after: 'if (--this.#added % CHUNKS_BEFORE_FLATTEN === 0) longer.charCodeAt(0)',
    why: 'when a text is made flat is a matter of time and memory'
  },
  {
    file: `${TCP}/nest/frame.ts`,
    before: 'if (++this.#added % CHUNKS_BEFORE_FLATTEN === 0) longer.charCodeAt(0)',
    after: 'if (++this.#added % CHUNKS_BEFORE_FLATTEN === 1) longer.charCodeAt(0)',
    why: 'when a text is made flat is a matter of time and memory'
  },
  {
    file: `${TCP}/nest/frame.ts`,
    before: 'if (++this.#added % CHUNKS_BEFORE_FLATTEN === 0) longer.charCodeAt(0)',
    after: 'if (++this.#added % CHUNKS_BEFORE_FLATTEN === 0) longer.charCodeAt(1)',
    why: 'when a text is made flat is a matter of time and memory'
  },
  {
    file: `${TCP}/limits/adaptive-concurrency.ts`,
    before: 'if (this.#inFlight <= this.limit) this.#probe = { left: this.#inFlight }',
    after: 'if (this.#inFlight < this.limit) this.#probe = { left: this.#inFlight }',
    why: 'the next end counts one less to come, and is one'
  },
  {
    file: `${TCP}/connection/session.ts`,
    before: '#unsentAsked = 0',
    after: '#unsentAsked = 1',
    why: 'the first look finds the connection active, and sets it'
  },
  {
    file: `${TCP}/connection/session.ts`,
    before: 'this.#watch?.stop()',
    after: '',
    why: 'the timer, which keeps no process alive, would find nothing incomplete'
  },
  {
    file: `${TCP}/connection/read-queue.ts`,
    before: '#batchAt = 0',
    after: '#batchAt = 1',
    why: 'is set before it is read'
  },
  {
    file: `${TCP}/connection/read-queue.ts`,
    before: '#batchSize = 0',
    after: '#batchSize = 1',
    why: 'is set before it is read'
  },
  {
    file: `${TCP}/connection/read-queue.ts`,
    before: '#smallTurns = 0',
    after: '#smallTurns = 1',
    why: 'is set when gathering begins'
  },
  {
    file: `${TCP}/connection/closing.ts`,
    before: 'isDraining = false',
    after: 'isDraining = true',
    why: 'what ends without draining has ended when this is asked'
  }
]
