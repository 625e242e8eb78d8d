// A consumer process of a play, with kafkajs; the argument and the files are those of handler.py.
// Mode auto: eachMessage, with the library's commits.  Pauses and pills are not for this client.
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { Kafka } from 'kafkajs'

const own = JSON.parse(process.argv[2])
const notes = fs.openSync(path.join(own.folder, 'clients.jsonl'), 'a')
const name = `${own.group}.${own.process}.${process.pid}.handled`
const records = fs.openSync(path.join(own.folder, 'clients', name), 'a')
const read = (file) => JSON.parse(fs.readFileSync(file, 'utf8'))
const control = () => read(path.join(own.folder, 'control', `${own.group}.json`))
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

const note = (what, fields = {}) => {
  const { process: client, group } = own
  const line = { wall_ms: Date.now(), client, group, pid: process.pid, what, ...fields }
  fs.writeSync(notes, JSON.stringify(line) + '\n')
}

const kafka = new Kafka({ clientId: own.process, brokers: [own.bootstrap] })
const consumer = kafka.consumer({ groupId: own.group, ...own.conf })
let partitions = []
let handled = 0
let slowNumber = control().slow.number

const ends = (what) => {
  if (partitions.length) note(what, { partitions })
  partitions = []
}
consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
  // A member that joins again without the event REBALANCING was removed before.
  ends('lost')
  partitions = [...(payload.memberAssignment[own.topic] ?? [])].sort((a, b) => a - b)
  note('assigned', { partitions, member: payload.memberId })
})
consumer.on(consumer.events.REBALANCING, () => ends('revoked'))
consumer.on(consumer.events.CRASH, ({ payload }) => {
  note('error', { error: String(payload.error) })
})

const eachMessage = async ({ partition, message }) => {
  const { slow, delay_ms } = control()
  if (slow.number > slowNumber && slow.process === own.process) {
    note('slow', { seconds: slow.seconds })
    await sleep(slow.seconds * 1000)
    note('slow over')
  }
  slowNumber = Math.max(slow.number, slowNumber)
  await sleep(delay_ms)
  fs.writeSync(records, `${Date.now()} ${partition} ${message.offset}\n`)
  handled++
}

process.on('SIGTERM', async () => {
  note('closing', { handled })
  await consumer.disconnect()
  note('closed')
  process.exit(0)
})
const { version } = createRequire(import.meta.url)('kafkajs/package.json')
note('started', { library: `kafkajs ${version}`, mode: own.mode, conf: own.conf })
await consumer.connect()
await consumer.subscribe({ topics: [own.topic], fromBeginning: true })
await consumer.run({ eachMessage })
