// Prints the processor's seconds of a process that does nothing.
const { user, system } = process.cpuUsage();
console.log((user + system) / 1e6);
