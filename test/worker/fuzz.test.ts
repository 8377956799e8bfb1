// `npm run fuzz` asks for fifty times as many.
import "../fuzz/socket.test.js";
import "../fuzz/http.test.js";
