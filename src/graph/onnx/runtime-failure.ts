/** Why onnxruntime-node can't be loaded, and what to do about it. */
import { InstallationError } from '../../errors.js';

const RUNTIME = 'onnxruntime-node';

/** What the machine is; of interest to tests alone. */
export interface Machine {
  readonly platform: string;
  readonly arch: string;
}

/** A kind of failure: its sign in what the loader says, and what to tell. */
interface Known {
  readonly sign: RegExp;
  readonly advice: (machine: Machine) => string;
}

const known: readonly Known[] = [
  {
    // musl's loader, which Alpine has: the binaries ask for glibc's.
    sign: /Error loading shared library (?:ld-linux|libc\.so|libstdc\+\+|libgcc_s)|Error relocating/,
    advice: (machine) =>
      `onnxruntime has no binary for this platform (${nameOf(machine)} with musl, as in Alpine); use a system with glibc, such as the image node:22-slim`,
  },
  {
    sign: /version [`'"](?:GLIBC|GLIBCXX|CXXABI)_[\d.]+[`'"]? not found/,
    advice: (machine) =>
      `onnxruntime has no binary for this platform (${nameOf(machine)} with a C or C++ library that is too old); use a newer system: glibc 2.28 and libstdc++ of GCC 8 at least, as in Debian 10 or RHEL 8`,
  },
  {
    sign: /libonnxruntime|onnxruntime\.dll/,
    advice: () =>
      `its library lies beside onnxruntime_binding.node and was left out; copy the whole folder node_modules/${RUNTIME}/bin, as a bundler or a tracer of files must too (docs/bundlers.md)`,
  },
  {
    sign: /lib(?:stdc\+\+|gcc_s)\.so/,
    advice: () =>
      'the system lacks the C++ library; install it (Debian: apt-get install libstdc++6), or use an image that has it, such as node:22-slim or distroless/nodejs22 on Debian',
  },
];

/**
 * The failure in words that say what to do.
 * @param thrown what loading the package threw.
 */
export function runtimeFailure(thrown: unknown, machine: Machine = process): InstallationError {
  const told = thrown instanceof Error ? thrown.message : String(thrown);
  return new InstallationError(RUNTIME, adviceFor(told, machine), { cause: thrown });
}

function adviceFor(told: string, machine: Machine): string {
  if (/Cannot find (?:module|package) ['"]onnxruntime-node['"]/.test(told)) {
    return `the package is not installed where this application looks for it; npm install --ignore-scripts ${RUNTIME}. It can't be put into a bundle: leave it out (external), and ship node_modules/${RUNTIME} and node_modules/onnxruntime-common with the bundle (docs/bundlers.md)`;
  }
  if (/Cannot find module .*onnxruntime_binding\.node/.test(told)) {
    return `onnxruntime has no binary for this platform (${nameOf(machine)}), or its folder node_modules/${RUNTIME}/bin was left out; there are binaries for Linux and Windows on x64 and arm64, and for macOS on arm64`;
  }
  const found = known.find(({ sign }) => sign.test(told));
  return found?.advice(machine) ?? `its native library can't be loaded on ${nameOf(machine)}: ${told}`;
}

const nameOf = ({ platform, arch }: Machine): string => `${platform} ${arch}`;
