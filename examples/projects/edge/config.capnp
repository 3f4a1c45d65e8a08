using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "main", worker = .worker)],
  sockets = [(name = "http", address = "127.0.0.1:8787", http = (), service = "main")],
);

const worker :Workerd.Worker = (
  compatibilityDate = "2026-01-01",
  modules = [
    (name = "worker.js", esModule = embed "out/worker.js"),
    (name = "kernels.wasm", wasm = embed "out/kernels.wasm"),
    (name = "model.orchard", data = embed "out/model.orchard"),
  ],
);
