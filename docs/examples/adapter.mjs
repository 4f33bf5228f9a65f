// A client for `kgroup bench run consume --adapter 'kafkajs=node adapter.mjs'`: npm install kafkajs
import { createInterface } from "node:readline";
import { crc32 } from "node:zlib";

const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");
const mark = () => {
  const { user, system } = process.cpuUsage();
  return { at: Number(process.hrtime.bigint()) / 1e9, cpu_s: (user + system) / 1e6 };
};

async function read(job, group) {
  const { Kafka, logLevel } = (await import("kafkajs")).default;
  const began = mark();
  const kafka = new Kafka({ brokers: job.bootstrap.split(","), logLevel: logLevel.NOTHING });
  const consumer = kafka.consumer({ groupId: group });
  const seen = { records: 0, offset_sum: 0, value_bytes: 0, crc_sum: job.proof ? 0 : null };
  let first;
  await consumer.connect();
  await consumer.subscribe({ topic: job.topic, fromBeginning: true });
  const ended = await new Promise((done) => consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch }) => {
      first ??= { first_at: mark().at, first_records: batch.messages.length };
      for (const { offset, value } of batch.messages) {
        seen.records += 1;
        seen.offset_sum += Number(offset);
        seen.value_bytes += value.length;
        if (job.proof) seen.crc_sum += crc32(value);
      }
      if (seen.records >= job.records) done(mark());
    },
  }));
  await consumer.disconnect();
  return { began, ...first, ended, seen };
}

const lines = createInterface({ input: process.stdin });
lines.once("line", async (line) => {
  const job = JSON.parse(line);
  if (job.job !== "read") say({ absent: `there is no job ${job.job}` });
  else {
    say({ ready: { ...mark(), import_s: null } });
    const passes = [await read(job, `${job.group}-0`)];
    say({ result: { passes, rss_bytes: process.memoryUsage().rss } });
  }
  process.exit(0);
});
lines.once("close", () => process.exit(1));
